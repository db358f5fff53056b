-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl bench ...: passes everything after "bench" to slate-load, which is installed in the same folder.
local access = require "slate.wire.access"
local gather = require "slate.base.gather"
local shell = require "slate.base.shell"

local M = {}

function M.declare(command)
    command:argument("words", "Arguments of slate-load; slatectl bench --help lists them."):args("*")
        :argname("ARGUMENT")
end

--- The shell command for slate-load with these words. Pure.
function M.command(program, words)
    local parts = { "exec", shell.word(program) }
    for _, word in ipairs(words) do
        parts[#parts + 1] = shell.word(word)
    end
    return table.concat(parts, " ")
end

local function has(words, option)
    return gather.any(words, function(word) return word == option or word:find(option .. "=", 1, true) == 1 end)
end

-- The words, followed by slatectl's own options that slate-load also knows, unless the words have them.
local function with_ours(words, server, parsed)
    local all = table.move(words, 1, #words, 1, {})
    local function add(option, ...)
        if not has(words, option) then
            table.move({ option, ... }, 1, 1 + select("#", ...), #all + 1, all)
        end
    end
    if server.tls and not has(words, "--server") then
        add("--tls-verify")
        for name, path in pairs(access.tls_files(os.getenv)) do
            add("--tls-" .. name:gsub("_file", ""), path)
        end
    end
    add("--server", server.name)
    if parsed.timeout then
        add("--timeout", ("%.3f"):format(parsed.timeout))
    end
    if parsed.json or parsed.jsonl then
        add("--json")
    end
    return all
end

--- Runs slate-load. parsed: the options before "bench". Returns its exit code, or nil, message, code.
function M.pass_through(words, server, parsed, launcher)
    if parsed.read_only then
        return nil, "bench stores items: --read-only refuses it", "refused"
    elseif parsed.trace then
        return nil, "bench sends too much to trace", "usage"
    end
    local program = launcher.bin_dir .. "/slate-load"
    local present = io.open(program, "rb")
    if not present then
        return nil, program .. " is missing: build it with make, or install Slate whole", "missing"
    end
    present:close()
    local _, how, status = os.execute(M.command(program, with_ours(words, server, parsed)))
    return how == "signal" and 128 + status or status
end

return M
