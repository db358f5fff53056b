-- SPDX-License-Identifier: BSD-3-Clause
-- A recording in which a value is of another kind than a server's: each command that reads recordings ends with what it
-- is for, or with a sentence, and never with an error of Lua. SEED= and ROUNDS= try others.
local json = require "slate.base.json"
local main = require "slate.cli.main"
local record_line = require "slate.facts.record_line"
local recordings = require "support.recordings"
local server = require "support.server"
local snapshot = require "slate.facts.snapshot"

local seed = math.tointeger(tonumber(os.getenv("SEED") or "")) or os.time()
local ROUNDS <const> = tonumber(os.getenv("ROUNDS") or 112)
local EVERY <const> = 18 -- one in so many snapshots of a recording of 90

local OTHERS <const> = { true, false, "x", "", "5", 1e300, -1e300, math.maxinteger, math.mininteger, 1 << 53, 0.5, -1,
    0, {}, { a = 1 }, json.array({ json.array({ 1 }) }), json.null }

-- FILE stands for the damaged recording, GOOD for the one that it was, OUT for a file that is not there.
local COMMANDS <const> = {
    "chart pages FILE", "chart pages FILE --json", "chart hits FILE",
    "chart curve FILE", "chart sizes FILE", "chart fleet FILE GOOD",
    "chart pages FILE -o OUT.html", "report FILE -o OUT.html", "doctor --recording FILE",
    "doctor --recording FILE --json", "rules test --recording FILE", "policy run utility --recording FILE",
    "policy run free-pages --recording FILE",
    "record --recording FILE -o OUT.jsonl",
}

local function sorted_keys(object)
    local keys = {}
    for key in pairs(object) do
        keys[#keys + 1] = key
    end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    return keys
end

-- The ways to all values: a list of lists of keys. Of the classes only one, which random chooses: else most ways were
-- into classes.
local function ways(value, way, into)
    local keys = sorted_keys(value)
    if way[#way] == "classes" and #keys > 0 then
        keys = { keys[math.random(#keys)] }
    end
    for _, key in ipairs(keys) do
        local own = table.move(way, 1, #way, 1, {})
        own[#own + 1] = key
        into[#into + 1] = own
        if type(value[key]) == "table" then
            ways(value[key], own, into)
        end
    end
    return into
end

-- The line of a snapshot in which the value at the end of a way is another one.
local function replaced(line, way, other)
    local one = json.decode(line)
    local at = one
    for i = 1, #way - 1 do
        at = at and at[way[i]]
    end
    if type(at) == "table" then
        at[way[#way]] = other
    end
    return json.encode(one)
end

describe("slatectl on a recording with a value of another kind", function()
    local folder, lines, texts, real_out, real_err

    setup(function()
        folder = server.folder()
        server.write_file(folder .. "/rules.lua", [[return { rules = { { name = "full", check = function(known)
            return known.now.classes[1].total_pages > 100 and "full" or nil end } } }]])
        lines, texts = {}, {}
        for i, one in ipairs(recordings.load("calcified")) do
            lines[#lines + 1] = i % EVERY == 1 and snapshot.encode(one) or nil
        end
        server.write_file(folder .. "/good.jsonl", table.concat(lines, "\n") .. "\n")
        real_out, real_err = io.stdout, io.stderr
    end)
    teardown(function() server.remove_folder(folder) end)

    local function sink()
        return { write = function(self, ...)
            table.move({ ... }, 1, select("#", ...), #texts + 1, texts)
            return self
        end, flush = function() return true end, seek = function() return 0 end, setvbuf = function() end }
    end

    -- Runs a command in this process: its exit code and all that it said.
    local function run(command)
        local words = {}
        for word in command:gmatch("%S+") do
            words[#words + 1] = word:gsub("FILE", folder .. "/bad.jsonl"):gsub("GOOD", folder .. "/good.jsonl")
                :gsub("OUT", folder .. "/out")
        end
        if words[1] == "rules" then
            words[#words + 1] = folder .. "/rules.lua"
        end
        texts = {}
        rawset(io, "stdout", sink())
        rawset(io, "stderr", sink())
        local ok, code = pcall(main.main, words, { version = "0", bin_dir = "build/bin" })
        rawset(io, "stdout", real_out)
        rawset(io, "stderr", real_err)
        for _, ending in ipairs({ "html", "jsonl" }) do
            os.remove(folder .. "/out." .. ending)
        end
        return ok and code or 70, ok and table.concat(texts) or code
    end

    it("ends with a sentence, and never with an error of Lua", function()
        math.randomseed(seed)
        local refused, at = 0, 0
        for round = 1, ROUNDS do
            local number, all = math.random(#lines), math.random(2) == 1
            local list = ways(json.decode(lines[number]), {}, {})
            local way, other = list[math.random(#list)], OTHERS[math.random(#OTHERS)]
            local damaged = {}
            for i, line in ipairs(lines) do
                damaged[i] = (all or i == number) and replaced(line, way, other) or line
            end
            server.write_file(folder .. "/bad.jsonl", table.concat(damaged, "\n") .. "\n")
            at = at % #COMMANDS + 1
            local code, said = run(COMMANDS[at])
            local about = ("SEED=%d, round %d, %s with %s = %s: %s"):format(seed, round, COMMANDS[at],
                table.concat(way, "."), json.encode({ other }), said)
            assert.not_equal(70, code, about)
            assert.is_nil(said:find("traceback", 1, true), about)
            local is_bad = record_line.chain():decode(damaged[number]) == nil
            refused = refused + (is_bad and 1 or 0)
            if is_bad then
                assert.truthy(said:find(("line %d: "):format(all and 1 or number), 1, true), about)
                assert.truthy(said:find("bad.jsonl", 1, true), about)
            end
        end
        print(("# SEED=%d; %d recordings, %d with a line that was refused"):format(seed, ROUNDS, refused))
        assert.is_true(refused > ROUNDS / 10)
    end)

    it("is read by every command as it is without such a value", function()
        server.write_file(folder .. "/bad.jsonl", table.concat(lines, "\n") .. "\n")
        for _, command in ipairs(COMMANDS) do
            local code, said = run(command)
            assert.truthy(code == 0 or code == 1, command .. ": " .. said)
        end
    end)
end)
