-- SPDX-License-Identifier: BSD-3-Clause
-- Every command and option named in the library's texts and in the explanations exists.
local server = require "support.server"
local cli = require "slate.cli.command_line"

-- Words after "slatectl" in sentences about slatectl.
local PROSE <const> = { reached = true, reads = true, refuses = true, names = true, says = true, tells = true,
    does = true, together = true, ["or"] = true, slatetop = true }

local function is_command(name)
    for _, row in ipairs(cli.COMMANDS) do
        if row.name == name then
            return true
        end
    end
    return false
end

-- The options allowed after a command: its own and the general ones.
local function options_of(name)
    local options, parser = {}, cli.parser(name)
    local function add(list)
        for _, option in ipairs(list) do
            for _, alias in ipairs(option._aliases) do options[alias] = true end
        end
    end
    add(parser._options)
    for _, command in ipairs(parser._commands) do
        if command._name == name then
            add(command._options)
        end
    end
    return options
end

-- The errors of the commands in a text; "" for none.
local function problems(text)
    local found = {}
    for first, rest in text:gmatch("slatectl ([%l][%l-]*)([^;,.:()'\"]*)") do
        local second = rest:match("^ ([%l][%l-]*)")
        local name = second and is_command(first .. "-" .. second) and first .. "-" .. second or first
        if not is_command(name) then
            found[#found + 1] = not PROSE[first] and "slatectl " .. first or nil
        elseif name ~= "bench" then -- its options belong to another program
            local options = options_of(name)
            for option in rest:gmatch("%-%-[%l-]+") do
                found[#found + 1] = not options[option] and ("slatectl %s has no %s"):format(name, option) or nil
            end
        end
    end
    return table.concat(found, "; ")
end

describe("the commands that texts name", function()
    it("are seen when they are not there", function()
        assert.equal("slatectl changes", problems("the record tells: slatectl changes"))
        assert.equal("slatectl move has no --nonsense", problems("slatectl move 1 2 --nonsense"))
        assert.equal("", problems("slatectl fleet undo; slatectl move any 5 --dry-run, then slatectl undo"))
    end)

    it("are there in the library's texts", function()
        local pipe, wrong, files = io.popen("find lua/slate -name '*.lua'"), {}, 0
        for path in pipe:lines() do
            files = files + 1
            for line in io.lines(path) do
                local problem = line:find("^%s*%-%-") and "" or problems(line)
                wrong[#wrong + 1] = problem ~= "" and ("%s: %s: %s"):format(path, problem, line) or nil
            end
        end
        pipe:close()
        assert.is_true(files > 0)
        assert.same({}, wrong)
    end)

    it("exist in the texts that explain the figures", function()
        assert.equal("", problems(server.read_file("man/explain.txt"):gsub("\n#[^\n]*", ""):gsub("\n%s+", " ")))
    end)
end)
