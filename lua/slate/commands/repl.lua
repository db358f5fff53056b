-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl repl: Lua with the library at hand and a client connected.
local must = require("slate.base.failure").must

local M = {}

local HELP <const> = [[
c                 the client: c:get(key), c:set(key, value), c:stats(group), c:command(line)
snapshot()        everything at this moment, with settings
rates(seconds)    what happens a second, over so many seconds (1)
slate.NAME        a module of the library: slate.base.units.bytes(1e6), slate.judge.view.classes(snapshot())
Ctrl-D ends.
]]

function M.declare(command)
    command:option("-e --execute", "Run this instead of reading lines; may be given again."):argname("CODE"):count("*")
end

-- The library's rooms by name, and their modules by theirs: slate.wire.client.
local function rooms()
    return setmetatable({}, { __index = function(_, room)
        return setmetatable({}, { __index = function(_, name) return require(("slate.%s.%s"):format(room, name)) end })
    end })
end

-- What the code sees: Lua's own names, and ours before them.
local function environment(context, client)
    local names = {
        c = client, slate = rooms(),
        snapshot = function() return assert(context:snapshot(client)) end,
    }
    function names.rates(seconds)
        local _, _, rates = context:pair(client, seconds or 1)
        return rates
    end
    return setmetatable(names, { __index = _G })
end

-- A value as people read it: tables as JSON where they can be.
local function shown(value)
    if type(value) == "table" then
        local ok, text = pcall(require("slate.base.json").encode, value)
        return ok and text or tostring(value)
    end
    return tostring(value)
end

-- Compiles a statement or an expression: a function; or nil and a message; "more" when it goes on.
local function compile(code, names)
    local chunk = load("return " .. code, "=repl", "t", names)
    if chunk then
        return chunk
    end
    local problem
    chunk, problem = load(code, "=repl", "t", names)
    if not chunk and problem:find("<eof>", 1, true) then
        return nil, "more"
    end
    return chunk, problem
end

-- Runs a chunk and prints what it returns. True when it did not fail.
local function run_chunk(context, chunk)
    local results = table.pack(pcall(chunk))
    if not results[1] then
        if tostring(results[2]):find("interrupted!", 1, true) then
            error(results[2], 0)
        end
        context:say(tostring(results[2]))
        return false
    end
    for i = 2, results.n do
        context:out((shown(results[i]):gsub("[\1-\8\11-\31]", "?")), i < results.n and "\t" or "\n")
    end
    context:flush()
    return true
end

-- Reads lines until the end; returns how many failed.
local function converse(context, names)
    local is_terminal, pending, failed = os.execute("test -t 0") == true, "", 0
    while true do
        if is_terminal then
            io.stderr:write(pending == "" and "slate> " or "    -> ")
        end
        local line = io.read("l")
        if not line then
            return failed + (pending ~= "" and 1 or 0)
        end
        local code = pending .. line
        local chunk, problem = compile(code, names)
        pending = not chunk and problem == "more" and code .. "\n" or ""
        if line == "help" then
            context:out(HELP)
        elseif chunk then
            failed = failed + (run_chunk(context, chunk) and 0 or 1)
        elseif problem ~= "more" then
            context:say(problem)
            failed = failed + 1
        end
    end
end

--- Exits with 1 when something failed.
function M.run(context, parsed)
    local client = must(context:open())
    local names, failed = environment(context, client), 0
    if #parsed.execute == 0 then
        failed = converse(context, names)
    end
    for _, text in ipairs(parsed.execute) do
        local chunk, problem = compile(text, names)
        if not chunk then
            return nil, problem == "more" and "the code ends too early" or problem, "usage"
        end
        failed = failed + (run_chunk(context, chunk) and 0 or 1)
    end
    client:close()
    return failed > 0 and 1 or 0
end

return M
