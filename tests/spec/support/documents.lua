-- SPDX-License-Identifier: BSD-3-Clause
--- Reads slatectl's output for programs with foreign parsers: Python's json and csv.
local command = require "support.command"
local server = require "support.server"

local M = {}

-- Reads names of files with a kind each; ends with a message on the first that does not parse.
local SCRIPT <const> = [[
import csv, json, sys
for line in open(sys.argv[1]):
    kind, name = line.split()
    text = open(name, newline="").read()
    try:
        if kind == "csv":
            rows = list(csv.reader(text.splitlines(), strict=True))
            assert rows and rows[0] and len({len(row) for row in rows}) == 1, "columns differ"
        else:
            lines = text.splitlines()
            assert lines and (kind == "jsonl" or len(lines) == 1), "%d lines" % len(lines)
            for one in lines:
                def constant(word): raise ValueError(word)
                document = json.loads(one, parse_constant=constant)
                assert document["schema"].startswith("slate/"), document
    except Exception as problem:
        sys.exit("%s: %s: %s" % (open(name + ".what").read(), problem, text[:300]))
]]

--- A collector of outputs in a folder. add(kind, text, what) with the kind json, jsonl or csv; check() parses them all.
function M.new()
    local self = { folder = server.folder(), count = 0, list = {} }

    function self.add(kind, text, what)
        self.count = self.count + 1
        local name = ("%s/%d"):format(self.folder, self.count)
        for path, content in pairs({ [name] = text, [name .. ".what"] = what }) do
            server.write_file(path, content)
        end
        self.list[self.count] = kind .. " " .. name .. "\n"
    end

    --- Returns "" when all parse, otherwise the ones that do not.
    function self.check()
        local files = { list = table.concat(self.list), ["check.py"] = SCRIPT }
        for name, content in pairs(files) do
            server.write_file(self.folder .. "/" .. name, content)
        end
        os.execute(("python3 %s/check.py %s/list 2>%s/problem"):format(self.folder, self.folder, self.folder))
        return command.read_file(self.folder .. "/problem")
    end

    function self.remove() server.remove_folder(self.folder) end

    return self
end

return M
