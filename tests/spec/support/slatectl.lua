-- SPDX-License-Identifier: BSD-3-Clause
--- Runs slatectl in this process, with the same results as in a process of its own.
--
-- Each command gets a table of globals of its own, and all modules of slate.* and argparse anew, from chunks that are
-- compiled once. So a command changes nothing for the next one or for the spec. This file replaces the command's
-- os.getenv, os.exit, io.stdout, io.popen and require.
local lfs = require "lfs"

local M = {}

local ROOT <const> = lfs.currentdir()
local PATH <const> = ROOT .. "/lua/?.lua;" .. package.path
local HANG_S <const> = 300 -- only a hang takes so long
local TIMEOUTS <const> = { ["slate.cli.main"] = "DEFAULT_TIMEOUT_S", ["slate.cli.candidates"] = "SERVER_TIMEOUT_S" }
local chunks, paths = {}, {} -- by path; by the name of a module

-- A chunk with these globals.
local function chunk_of(path, globals)
    chunks[path] = chunks[path] or assert(loadfile(path))
    debug.upvaluejoin(chunks[path], 1, function() return globals end, 1)
    return chunks[path]
end

local function quoted(word) return "'" .. tostring(word):gsub("'", "'\\''") .. "'" end

-- The text before a shell command that gives it the environment and the streams of the process.
local function prelude_of(process)
    local parts = {}
    for name, value in pairs(process.environment) do
        parts[#parts + 1] = ("export %s=%s; "):format(name, quoted(value))
    end
    return table.concat(parts) .. ("exec 2>>%s; "):format(quoted(process.paths[2]))
end

local function libraries_of(process, exit)
    local prelude, stdout = prelude_of(process), process.streams[1]
    local io_of = setmetatable({ stdin = process.stdin, stdout = stdout, stderr = process.streams[2] },
        { __index = io })
    local os_of = setmetatable({ exit = exit }, { __index = os })
    local to_stdout <const> = ("exec >>%s; "):format(quoted(process.paths[1]))
    function io_of.write(...) return stdout:write(...) end
    function io_of.popen(line, mode)
        stdout:flush()
        local pipe, problem = io.popen(prelude .. (mode == "w" and to_stdout or "exec </dev/null; ") .. line, mode)
        process.pipes[#process.pipes + 1] = pipe
        return pipe, problem
    end
    function os_of.execute(line)
        stdout:flush()
        return os.execute(prelude .. to_stdout .. "exec </dev/null; " .. line)
    end
    function os_of.getenv(name) return process.environment[name] or os.getenv(name) end
    return io_of, os_of
end

-- The globals of a process whose os.exit is `exit`, and its `require`.
local function globals_of(process, exit)
    local globals = {}
    for name, value in pairs(_G) do globals[name] = value end
    globals._G, globals.arg = globals, process.arg
    globals.io, globals.os = libraries_of(process, exit)
    globals.package = setmetatable({ loaded = {}, path = PATH }, { __index = package })
    function globals.print(...) globals.io.write(table.concat({ ... }, "\t"), "\n") end
    function globals.require(name)
        local loaded = globals.package.loaded
        if not (name == "argparse" or name:find("^slate%.")) then
            return require(name)
        elseif loaded[name] == nil then
            paths[name] = paths[name] or package.searchpath(name, PATH)
            local made = chunk_of(assert(paths[name], "module '" .. name .. "' not found"), globals)(name, paths[name])
            loaded[name] = made == nil and true or made
            if TIMEOUTS[name] then
                made[TIMEOUTS[name]] = HANG_S
            end
        end
        return loaded[name]
    end
    return globals
end

local REST_S <const> = 0.01 -- of real time, in which other processes go on

-- Puts a clock that leaps over sleeps into the modules of a process; clock.leapt_s counts the seconds. Snapshots have
-- times that pass in sleeps alone: a server that a busy machine makes late changes no rate.
local function leap(require, clock, meanwhile)
    local modules <const> = require "slate.base.clock"
    local together <const> = require "slate.wire.together"
    local steady_s, time_s, sleep = modules.steady_s, modules.time_s, modules.sleep
    clock.leapt_s = clock.leapt_s or 0
    clock.time_s = clock.time_s or time_s()
    function modules.steady_s() return steady_s() + clock.leapt_s end
    function modules.time_s() return clock.time_s end
    function modules.sleep(seconds)
        local rest_s = together.is_task() and seconds or math.min(seconds, REST_S)
        sleep(rest_s)
        clock.leapt_s, clock.time_s = clock.leapt_s + seconds - rest_s, clock.time_s + seconds
        if meanwhile then
            meanwhile(seconds)
        end
    end
end

local function text_of(path)
    local file <close> = assert(io.open(path, "rb"))
    return file:read("a")
end

local TURN_S <const> = 0.001

-- Runs the command as a task of its own slate.wire.together, and process.beside as another; returns the code that ends
-- the command.
local function run_beside(globals, process, main, ending)
    local is_running, result = true, nil
    local ok, raised = pcall(globals.require("slate.wire.together").run, {
        function()
            result = table.pack(pcall(main, table.unpack(process.words)))
            is_running = false
        end,
        function()
            if process.beside(function()
                coroutine.yield(nil, nil, TURN_S)
                return is_running
            end) == "over" then
                error(ending, 0)
            end
        end,
    })
    if not ok and raised ~= ending or result and not result[1] and result[2] ~= ending then
        error(result and result[2] or raised, 0)
    end
    return result and result[1] and result[2] or ending.code
end

--- Runs a command line. process: words (a list), folder (the working one), environment (variables beside the present
-- ones), clock (a table: time leaps over sleeps), meanwhile(seconds), which is called after each sleep: it may act for
-- others, or interrupt the command by error("interrupted!"); or beside(rest), which runs beside the command: rest()
-- lets the command go on, and returns whether the command still runs; "over", returned by beside, ends the command.
-- Returns the exit code, the output and the messages.
function M.run(process)
    local folder = process.folder
    process.environment = process.environment or {}
    process.arg = table.move(process.words, 1, #process.words, 1,
        { [-1] = "lua5.4", [0] = ROOT .. "/scripts/slatectl" })
    process.paths = { folder .. "/.out", folder .. "/.err" }
    process.stdin = assert(io.open("/dev/null", "rb"))
    process.streams, process.pipes = {}, {}
    for i, path in ipairs(process.paths) do
        os.remove(path)
        process.streams[i] = assert(io.open(path, "ab"))
    end
    process.streams[2]:setvbuf("no")
    local back = lfs.currentdir()
    assert(lfs.chdir(folder))
    -- os.exit leaves the coroutine for good, from however deep; a task ends by an error.
    local ending = {}
    local globals = globals_of(process, process.beside and function(code)
        ending.code = code
        error(ending, 0)
    end or coroutine.yield)
    local thread = coroutine.create(function()
        local main = chunk_of(globals.arg[0], globals)
        if process.beside then
            return run_beside(globals, process, main, ending)
        elseif process.clock then
            leap(globals.require, process.clock, process.meanwhile)
        end
        return main(table.unpack(process.words))
    end)
    local ok, code = coroutine.resume(thread)
    coroutine.close(thread)
    collectgarbage("restart")
    assert(lfs.chdir(back))
    for _, list in ipairs({ process.pipes, process.streams, { process.stdin } }) do
        for _, stream in ipairs(list) do
            if io.type(stream) == "file" then
                stream:close()
            end
        end
    end
    assert(ok, code)
    return code == true and 0 or code or 1, text_of(process.paths[1]), text_of(process.paths[2])
end

-- Characters of a plain word outside of quotes, and inside of double ones.
local PLAIN <const>, IN_QUOTES <const> = "^[^%s|&;<>()$`\\\"'*?%[%]#~!]+", '^"([^"$`\\]*)"'

-- The next word of a line from a position on, and the position behind the word; nil where there is no plain word.
local function next_word(line, at)
    local parts, first = {}, at
    while at <= #line and not line:find("^[ \t]", at) do
        local plain = line:match(PLAIN, at)
        local inner = not plain and (line:match("^'([^']*)'", at) or line:match(IN_QUOTES, at))
        if not plain and not inner then
            return nil
        end
        parts[#parts + 1] = plain or inner
        at = at + (plain and #plain or #inner + 2)
    end
    return table.concat(parts), at, line:match("^([%a_][%w_]*)=", first)
end

--- The words of a shell line that runs slatectl and nothing else, and the variables set before; nil for a line that
-- needs a shell, or a process.
function M.words_of(line)
    local words, environment, at = {}, {}, line:match("^[ \t]*()")
    while at <= #line do
        local word, behind, variable = next_word(line, at)
        if not word or word:find("^/dev/") or word:find("^/proc/self/") then
            return nil
        elseif #words == 0 and variable then
            environment[variable] = word:sub(#variable + 2)
        else
            words[#words + 1] = word
        end
        at = line:match("^[ \t]*()", behind)
    end
    if table.remove(words, 1) ~= "slatectl" then
        return nil
    end
    return words, environment
end

return M
