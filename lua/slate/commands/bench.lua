-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl bench ...: hands everything after the word to slate-load, which is installed beside us.
local shell = require "slate.shell"

local M = {}

function M.declare(command)
    command:argument("words", "What slate-load is to do; slatectl bench --help lists it all."):args("*")
        :argname("ARGUMENT")
end

--- The shell command for slate-load with our words as its own. Pure.
function M.command(program, words)
    local parts = { "exec", shell.word(program) }
    for _, word in ipairs(words) do
        parts[#parts + 1] = shell.word(word)
    end
    return table.concat(parts, " ")
end

-- The words for slate-load: all after "bench", with the options for the server that stand before it.
local function words_for_load(arguments, at, options)
    local words = table.move(arguments, at + 1, #arguments, 1, {})
    local server = options.server or os.getenv("SLATE_SERVER")
    for _, word in ipairs(words) do
        if word:find("^%-%-server") then
            server = nil
        end
    end
    if server then
        table.insert(words, "--server")
        table.insert(words, server)
    end
    return words
end

--- Runs slate-load. arguments[at] is the word "bench"; returns its exit code, or nil, message, code.
function M.pass_through(arguments, at, launcher)
    local options = {}
    for i = 1, at - 1 do
        if arguments[i] == "-s" or arguments[i] == "--server" then
            options.server = arguments[i + 1]
        elseif arguments[i] == "--read-only" then
            return nil, "bench stores items: --read-only refuses it", "refused"
        end
    end
    local program = launcher.bin_dir .. "/slate-load"
    local present = io.open(program, "rb")
    if not present then
        return nil, program .. " is missing: build it with make, or install Slate whole", "missing"
    end
    present:close()
    local _, how, status = os.execute(M.command(program, words_for_load(arguments, at, options)))
    return how == "signal" and 128 + status or status
end

return M
