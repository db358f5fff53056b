-- SPDX-License-Identifier: BSD-3-Clause
-- A memory file (-e): the items after a stop and after kill -9, and files that the next start refuses.
local restart = require "support.restart"
local server = require "support.server"
local wire = require "support.wire"

local EX_OSERR <const>, EX_USAGE <const> = 71, 64

-- Each setting's value by its name.
local function config_of(client)
    local config = {}
    for _, line in ipairs(wire.lines(client, "config get")) do
        local name, value = line:match("^CONFIG (%S+) (%S+)")
        config[name or line] = value
    end
    return config
end

describe("slated -e", function()
    local one

    local function start(words)
        one = restart.begin(words)
        return one:connect()
    end

    after_each(function()
        if one then
            one:finish()
            one = nil
        end
    end)

    for _, signal in ipairs { "TERM", "USR1", "KILL" } do
        it("goes on with the stored items after SIG" .. signal, function()
            local client = start("-m 64")
            local large = ("0123456789abcdef"):rep(50000)
            assert.equal("STORED", wire.ask(client, "set flags 77 0 5\r\nhello"))
            assert.equal("STORED", wire.ask(client, ("set large 0 1000 %d\r\n%s"):format(#large, large)))
            assert.equal("STORED", wire.ask(client, "set gone 0 0 4\r\ngone"))
            assert.equal("STORED", wire.ask(client, "set number 0 0 2\r\n41"))
            assert.equal("42", wire.ask(client, "incr number 1"))
            assert.equal("DELETED", wire.ask(client, "delete gone"))
            local cas = tonumber(wire.ask(client, "mg number c"):match("c(%d+)"))
            client:close()

            client = one:again(signal, "-m 64")
            assert.equal("HD f77 t-1 s5", wire.ask(client, "mg flags f t s"))
            assert.equal("VA 2", wire.ask(client, "mg number v"))
            assert.equal("42", client:receive("*l"))
            assert.equal("EN", wire.ask(client, "mg gone v"))
            local left = tonumber(wire.ask(client, "mg large t"):match("t(%d+)"))
            assert.is_true(left > 0 and left <= 1000)
            assert.equal(("VA %d"):format(#large), wire.ask(client, "mg large v"))
            assert.equal(large, client:receive(#large + 2):sub(1, -3))
            assert.equal("43", wire.ask(client, "incr number 1"))
            assert.is_true(tonumber(wire.ask(client, "mg number c"):match("c(%d+)")) > cas)
            local _, stats = wire.stats(client, "slated")
            assert.same({ "3", "0" }, { stats.adopted_items, stats.adopted_torn })
            assert.equal(one.folder .. "/memory", select(2, wire.stats(client, "settings")).memory_file)
            client:close()
            one:says("3 items in %d+ pages adopted in %d+%.%d%d s; 0 were torn")
        end)
    end

    for _, signal in ipairs { "TERM", "KILL" } do
        it("keeps settings changed while it ran after SIG" .. signal .. ", but for what options say", function()
            local words <const> = "-m 64 -c 500 -o lru_crawler_sleep=7"
            local changed <const> = { slab_automove = "lra", slab_automove_window = "33", hot_max_factor = "0.5",
                maxconns_fast = "no", maxbytes = tostring(96 << 20), policy = "sieve", sample_rate = "0.125" }
            local client = start(words)
            for name, value in pairs(changed) do
                assert.equal("OK", wire.ask(client, ("config set %s %s"):format(name, value)), name)
            end
            assert.equal("OK", wire.ask(client, "config set maxconns 400"))
            changed.maxbytes = nil -- maxbytes is -m, which was given
            for _ = 1, 2 do -- again, without anything changed in between
                client = one:again(signal, words)
                local config = config_of(client)
                for name, value in pairs(changed) do
                    assert.equal(tonumber(value) or value, tonumber(config[name]) or config[name], name)
                end
                assert.equal(tostring(64 << 20), config.maxbytes)
                assert.equal("500", config.maxconns)
                assert.equal("7", config.lru_crawler_sleep)
            end
            local _, audit = wire.stats(client, "audit")
            assert.is_truthy(next(audit))
            assert.equal("OK", wire.ask(client, "config set slab_automove utility"))
            client = one:again(signal, words .. " --policy=lru")
            local config = config_of(client)
            assert.equal("lru", config.policy)
            assert.equal("utility", config.slab_automove)
        end)
    end

    it("leaves out the kept setting that today's options do not go with, no other, and says so", function()
        local client = start("-m 64")
        assert.equal("OK", wire.ask(client, "config set hot_lru_pct 35"))
        assert.equal("OK", wire.ask(client, "config set idle_timeout 77"))
        client = one:again("KILL", "-m 64 -o warm_lru_pct=60")
        local config = config_of(client)
        assert.equal("20", config.hot_lru_pct)
        assert.equal("77", config.idle_timeout)
        one:says("the memory file's hot_lru_pct is left out: ")
    end)

    it("keeps a flush that was answered", function()
        local client = start("-m 64")
        assert.equal("STORED", wire.ask(client, "set before 0 0 1\r\na"))
        assert.equal("OK", wire.ask(client, "flush_all"))
        assert.equal("STORED", wire.ask(client, "set after 0 0 1\r\na"))
        client = one:again("KILL", "-m 64")
        assert.equal("EN", wire.ask(client, "mg before"))
        assert.equal("HD", wire.ask(client, "mg after"))
    end)

    it("refuses another server's file, and an unusable one, with a sentence", function()
        start("-m 64")
        local folder = one.folder
        local said, code = one:refused(("-m 64 -e %s/memory"):format(folder))
        assert.equal(("slated: error: %s/memory: another process has it"):format(folder), said)
        assert.equal(EX_OSERR, code)
        one:stop("TERM")
        said = one:refused(("-m 1024 -e %s/memory"):format(folder))
        assert.matches("it has room for %d+ MB, and %-m and %-%-partitions need more; remove it", said)
        server.write_file(folder .. "/letter", "Dear cache,\n")
        said = one:refused(("-e %s/letter"):format(folder))
        assert.matches("it is no memory file of slated; remove it to start with an empty cache", said)
        assert.equal("Dear cache,\n", server.read_file(folder .. "/letter"))
        said, code = one:refused(("--store=blocks -e %s/memory"):format(folder))
        assert.matches("%-e needs %-%-store=slab", said)
        assert.equal(EX_USAGE, code)
    end)

    it("works with no more system calls than serving takes", function()
        local client = start("-m 64 -o drop_privileges")
        local large = ("x"):rep(1000000)
        for i = 1, 100 do -- pages that are backed and given back
            assert.equal("STORED", wire.ask(client, ("set large%d 0 0 %d\r\n%s"):format(i, #large, large)))
        end
        client = one:again("KILL", "-m 64 -o drop_privileges")
        assert.equal("HD s1000000", wire.ask(client, "mg large100 s"))
    end)
end)
