-- SPDX-License-Identifier: BSD-3-Clause
-- The cost of greedy and dumb clients stays bounded (tests/bench/abuse). `make bench-abuse` shows
-- the same figures beside memcached's. ALL=1 plays every case in full; otherwise the worst of each kind, shortened.
local socket = require "socket"
local cases = require "abuse.cases"
local play = require "abuse.run"

local PROGRAM <const> = "build/bench/abuse"
local SERVER <const> = "build/bin/slated"
local SETTLE_MS <const> = 100
local DEADLINE_S <const> = 300 -- only a fault takes that long

-- The bounds, beyond the 64 MB of items stored before. The processor time of a wait is the server's own, whatever other
-- work the machine has: four workers in turns of at most 20 ms, and the tuner's work beside them.
local PEAK_MB <const>, AFTER_MB <const>, WAIT_CPU_MS <const> = 32, 24, 250
-- If other programs keep the worker or the client from the processors, the time of the server's other workers meanwhile
-- counts as well. A delay that the server itself causes comes each time.
local TRIES <const> = 3

local ALL <const> = os.getenv("ALL") ~= nil

-- A case's words, with fewer requests.
local function words_of(case)
    local words = { "--settle", SETTLE_MS, table.unpack(case.words) }
    for i, word in ipairs(words) do
        if word == "--times" and not ALL then
            words[i + 1] = math.max(1, words[i + 1] // 6)
        end
    end
    return words
end

describe("greedy and dumb clients", function()
    local server, connections -- present without clients, too

    setup(function()
        server = assert(play.start(SERVER, { "-m", 64, "-t", 4, "-c", 4096 }, cases.fill()))
        connections = tonumber(server:stats().curr_connections)
    end)

    teardown(function()
        server:stop()
    end)

    for _, case in ipairs(cases.cases) do
        if ALL or cases.is_quick(case) then
            it("cost others a bounded wait and the server bounded memory: " .. case.name:sub(1, 60), function()
                local before = server:stats()
                local evictions = tonumber(before.evictions)
                local words, tries, figures, wait_ms = words_of(case), 0
                repeat
                    figures = assert(play.play(PROGRAM, { words = words }, server))
                    wait_ms = figures.wait_longest_cpu_us / 1000
                    tries = tries + 1
                until wait_ms <= WAIT_CPU_MS or tries == TRIES
                local peak_mb, after_mb = play.growth_mb(figures)
                assert.equal(0, figures.unfinished, "clients without all their replies")
                assert.is_true(peak_mb <= (case.peak_mb or PEAK_MB), ("the process grew by %.1f MB"):format(peak_mb))
                assert.is_true(after_mb <= AFTER_MB, ("it stays larger by %.1f MB"):format(after_mb))
                assert.is_true(wait_ms <= WAIT_CPU_MS,
                    ("another client waited for %.0f ms of the server's processor time"):format(wait_ms))
                assert.equal(0, figures.refused, "stores of another client that were refused")
                if case.leaves then
                    local deadline = socket.gettime() + DEADLINE_S
                    while tonumber(server:stats().curr_connections) > connections do
                        assert(socket.gettime() < deadline, "connections of clients that hung up stay")
                        socket.sleep(0.01)
                    end
                end
                if case.keeps then
                    assert.equal(evictions, tonumber(server:stats().evictions), "evictions")
                end
            end)
        end
    end

    it("are those of every command of the table, and of every part of stats", function()
        local known = {}
        for _, case in ipairs(cases.cases) do
            known[case.name:match("^stats %S+") or case.name:match("^%S+")] = true
        end
        local missing = {}
        for line in io.lines("daemon/server/command_table.c") do
            local name = line:match('^    {"([%w_]+)", %a+, %a+_')
            if name and not known[name] and not cases.COVERED_ELSEWHERE[name] then
                missing[#missing + 1] = name
            end
        end
        for line in io.lines("daemon/server/stats/stats.c") do
            for name in line:gmatch('{"([%w_]+)", %a+, %a+_%a+}') do
                if not known["stats " .. name] and not cases.COVERED_ELSEWHERE["stats " .. name] then
                    missing[#missing + 1] = "stats " .. name
                end
            end
        end
        assert.same({}, missing)
    end)
end)
