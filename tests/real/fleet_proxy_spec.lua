-- SPDX-License-Identifier: BSD-3-Clause
-- memcached as a proxy in slatectl fleet: from made-up members, from the transcript of one, and from one built with
-- --enable-proxy, if installed.
local command = require "support.command"
local dkjson = require "dkjson"
local members = require "slate.fleet.members"
local patience = require "support.patience"
local proxy = require "slate.facts.proxy"
local server = require "support.server"
local snapshots = require "support.snapshots"

describe("a proxy's statistics", function()
    it("are summed up: its requests, and bad backends", function()
        assert.same({ gets = 12, sets = 7, bad = { { name = "a b", links = 1 }, { name = "b2", links = 2 } } },
            proxy.parse({ "STAT cmd_mg 5", "STAT cmd_get 4", "STAT cmd_gats 3", "STAT cmd_ms 6", "STAT cmd_add 1",
                "STAT cmd_touch 9", "STAT vm_gc_runs 2", "nonsense" },
                { "STAT bad_b2 2", "STAT bad_a b 1", "STAT bad_x -1", "STAT other 3" }))
        assert.same({}, proxy.parse(nil, nil))
        assert.same({ bad = {} }, proxy.parse({ "STAT cmd_get many" }, {}))
    end)
end)

describe("the page of metrics of a proxy", function()
    it("has the names of memcached_exporter", function()
        local families = require("slate.cli.families").new()
        local now = snapshots.make(1000, {}, { proxy_conn_requests = 5, proxy_backend_failed = 2,
            proxy_backend_total = 4, proxy_req_active = 1, round_robin_fallback = 3 }, { proxy_enabled = true })
        require("slate.cli.exporter_names").add(families, now, {}, function() return "" end)
        local text = families:text("prometheus")
        for _, line in ipairs({ "proxy_conn_requests_total 5", "proxy_backend_failed 2", "proxy_backend_total 4",
            "proxy_req_active 1", "round_robin_fallback_total 3" }) do
            assert.truthy(text:find("\nmemcached_" .. line .. "\n", 1, true), text)
        end
    end)
end)

describe("a proxy in a fleet", function()
    -- Two snapshots of a proxy, a second apart; general: further counters after that second.
    local function member(general, bad, settings)
        local function at(time_s, counts, gets)
            local one = snapshots.make(time_s, {}, counts, settings or { proxy_enabled = true })
            one.proxy = { gets = gets, sets = 10, bad = bad }
            return one
        end
        local before = at(1000, { proxy_conn_requests = 1000, proxy_backend_failed = 0, proxy_conn_errors = 0,
            proxy_backend_total = 4, cmd_get = 0, get_hits = 0, get_misses = 0, evictions = 0, curr_items = 0,
            bytes = 0, limit_maxbytes = 64 << 20 }, 100)
        local after = {}
        for name, value in pairs(before.general) do
            after[name] = value
        end
        after.uptime, after.proxy_conn_requests = 1001, 1500
        for name, value in pairs(general or {}) do
            after[name] = value
        end
        local now = at(1001, after, 350)
        return { server = { name = "p" }, client = true, who = {}, observer = snapshots.seen({ before, now }),
            before = before, now = now,
            rates = require("slate.facts.snapshot").rates(before, now) }
    end

    it("has its requests, and no figure of a cache", function()
        local row = members.rows({ member(nil, {}) })[1]
        assert.equal("proxy, 4 links to backends", table.concat(row.notes, "|"))
        assert.same({ 250, 0, 500, 0, 4 }, { row.get_per_s, row.set_per_s, row.proxy.requests_per_s,
            row.proxy.links_bad, row.proxy.links })
        for _, name in ipairs({ "hit_ratio", "hit_ratio_total", "used_ratio", "evictions_per_s", "items" }) do
            assert.is_nil(row[name], name)
        end
    end)

    it("stands above healthy rows when links are bad, and names the backends", function()
        local rows = members.rows({ member(nil, {}, { proxy_enabled = false }),
            member({ proxy_backend_failed = 3, proxy_conn_errors = 2 }, { { name = "b1", links = 1 },
                { name = "b2", links = 2 } }) })
        assert.equal("proxy, 3 of 4 links to backends bad: b1, b2; 3 links break a second; 2 errors a second",
            rows[1].notes[1])
        assert.same({ "which class starves is not reported" }, rows[2].notes)
        assert.is_nil(rows[2].proxy)
        assert.equal(64 << 20, rows[2].limit_bytes)
    end)

    it("keeps the figures of a cache of its own", function()
        local row = members.rows({ member({ curr_items = 5, bytes = 1 << 20 }, {}) })[1]
        assert.equal(1 / 64, row.used_ratio)
        assert.equal(0, row.evictions_per_s)
    end)
end)

describe("slatetop on a proxy", function()
    it("has the same sentences on its links, where it knows no names of backends", function()
        local seen = proxy.of({ general = { proxy_backend_total = 4, proxy_links_bad = 3 } }, nil, { interval_s = 1,
            general = { proxy_conn_requests_per_s = 2100, proxy_backend_failed_per_s = 3,
                proxy_conn_errors_per_s = 2 } })
        assert.same({ { text = "proxy: 2100 requests/s, 3 of 4 links to backends bad", short = "3 bad links",
            tone = "bad" }, { text = "proxy: 3 links break a second", short = "links break", tone = "warn" },
            { text = "proxy: 2 errors a second", short = "proxy errors", tone = "warn" } }, proxy.sentences(seen))
        assert.same({ { text = "proxy: 4 links to backends", tone = "plain" } },
            proxy.sentences({ links = 4, links_bad = 0 }))
        assert.same({}, proxy.sentences({}))
    end)
end)

describe("slatectl fleet on a proxy", function()
    local ctl

    before_each(function() ctl = command.new() end)
    after_each(function() ctl.remove() end)

    it("reads the transcript of one", function()
        local pid = server.capture(("lua5.4 tests/console/replayer.lua %s/socket 1.6.45 proxy </dev/null "
            .. ">/dev/null 2>&1 & echo $!"):format(ctl.folder))
        finally(function() os.execute("kill -KILL " .. pid) end)
        patience.wait_for("its socket", function() return os.execute("test -S " .. ctl.folder .. "/socket") end)
        local text = ctl.succeed("fleet --interval 100ms ./socket")
        assert.truthy(text:find("proxy, 2 of 4 links to backends bad: 127.0.0.1:21918", 1, true), text)
        local row = dkjson.decode((ctl.succeed("--json fleet --interval 100ms ./socket"))).servers[1]
        assert.same({ { name = "127.0.0.1:21918", links = 2 } }, row.proxy.bad)
        assert.is_nil(row.used_ratio)
    end)

    it("reads one that serves", function()
        local kind
        for _, one in ipairs(server.all()) do
            kind = kind or not one.is_slated and server.capture(one.binary .. " -h"):find("proxy_config", 1, true)
                and one
        end
        if not kind then
            pending("no memcached here is built with --enable-proxy")
            return
        end
        local backend = server.start({ binary = kind.binary, transport = "tcp", args = { "-m", "16" } })
        finally(function() backend:stop() end)
        server.write_file(ctl.folder .. "/routes.lua", ('pools{ main = { backends = { "%s" } } }\n'
            .. 'routes{ default = route_direct{ child = "main" } }\n'):format(backend.address))
        local one = server.start({ binary = kind.binary, args = { "-t", "2", "-o",
            "proxy_config=routelib,proxy_arg=" .. ctl.folder .. "/routes.lua" } })
        finally(function()
            one:stop()
            backend:stop()
        end)
        local client = one:connect()
        assert(client:set("key", "value"))
        assert(client:get("key"))
        client:close()
        local text = ctl.succeed("fleet --interval 100ms " .. one.address .. " " .. backend.address)
        assert.truthy(text:find("proxy, %d+ links? to backends\n"), text)
        assert.equal(1, select(2, text:gsub("proxy, ", "")))
    end)
end)
