-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl fleet pilot: a policy beside every server of a fleet, and hands off at the first doubt.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local audit = require "slate.facts.audit"
local clock = require "slate.base.clock"
local command = require "support.command"
local document = require "support.document"
local fill = require "support.fill"
local server = require "support.server"
local socket = require "socket"

-- Moves one page, once, as soon as it may.
local ONCE <const> = [[
return {
    summary = "one page",
    settings = { window_s = { default = 0.1, min = 0, max = 60 } },
    init = function() return { has_moved = false } end,
    decide = function(before, after, state)
        if state.has_moved then
            return {}, "it has moved"
        end
        state.has_moved = true
        return { { from = 12, to = 5, reason = "for the test" } }
    end,
}
]]

describe("slatectl fleet pilot", function()
    local servers, ctl = {}, nil

    setup(function()
        ctl = command.new()
        local stock = server.memcached()
        for i, binary in ipairs({ server.slated(), stock or server.slated() }) do
            servers[i] = server.start({ binary = binary, args = { "-m", "24", "-o", "slab_automove=0" } })
            local client = servers[i]:connect()
            fill.fill(client, 5, 2)
            assert.is_true(fill.fill(client, 12) >= 6)
            client:close()
        end
        server.write_file(ctl.folder .. "/once.lua", ONCE)
        server.write_file(ctl.folder .. "/broken.lua", "return { decide = function() error('oh') end }")
        server.write_file(ctl.folder .. "/fleet", servers[1].address .. "\n" .. servers[2].address .. "\n")
    end)
    teardown(function()
        for _, one in ipairs(servers) do
            one:stop()
        end
        ctl.remove()
    end)
    before_each(function()
        os.remove(ctl.folder .. "/audit.log")
        for _, one in ipairs(servers) do
            local client = one:connect()
            assert.equal("OK", client:command("slabs automove 1"))
            client:close()
        end
    end)

    local function with_client(one, f)
        local client = one:connect()
        local found = f(client)
        client:close()
        return found
    end

    local function automove(one)
        return with_client(one, function(client)
            return require("slate.act.policy_run").automove(assert(require("slate.facts.snapshot").take(client,
                { settings = true })))
        end)
    end

    local function pages(one)
        return with_client(one, function(client) return fill.pages_of(client, 5) end)
    end

    -- Waits for what must come; a claim when it does not.
    local function await(what, f)
        for _ = 1, 6000 do
            local found = f()
            if found then
                return found
            end
            clock.sleep(0.01)
        end
        assert(false, what .. " did not come: " .. (server.read_file(ctl.folder .. "/said") or ""))
    end

    local function said()
        return server.read_file(ctl.folder .. "/said") or ""
    end

    -- Starts a pilot in the background: its pid.
    local function start(arguments)
        ctl.shell("rm -f said told; env --default-signal=INT slatectl -s file:fleet fleet pilot " .. arguments
            .. " >told 2>said & echo $! >pid")
        return tonumber(server.read_file(ctl.folder .. "/pid"))
    end

    local function stop(pid, signal)
        os.execute(("kill -%s %d"):format(signal, pid))
        await("its end", function() return not server.is_running(pid) end)
    end

    it("tells what it would move, and sends nothing", function()
        local before = { pages(servers[1]), pages(servers[2]) }
        local out, err = ctl.succeed("-s file:fleet fleet pilot ./once.lua --interval 50ms --for 2s")
        for _, one in ipairs(servers) do
            assert.truthy(out:find(("  %s: 1 page from class 12 to class 5: for the test; dry run\n"):format(
                one.address), 1, true), out)
            assert.truthy(err:find(one.address .. ": looking\n", 1, true), err)
            assert.equal("1", (automove(one):gsub("ratio", "1")))
        end
        assert.truthy(err:find("on 2 servers: 2 pages would have moved; with --apply they are moved\n", 1, true), err)
        assert.same(before, { pages(servers[1]), pages(servers[2]) })
        assert.is_nil(io.open(ctl.folder .. "/audit.log"))
        local first = ctl.succeed("--json -s file:fleet fleet pilot ./once.lua --interval 50ms --for 1s")
            :match("^[^\n]*\n")
        assert.equal("once", document(first).policy)
    end)

    it("moves with --apply, has automove off meanwhile, and gives it back", function()
        local before = { pages(servers[1]), pages(servers[2]) }
        local pid = start("./once.lua --apply --interval 50ms --watch 500ms --guard oom+1000000 --listen :0")
        local port = await("its port", function() return said():match("127%.0%.0%.1:(%d+)/metrics") end)
        for i, one in ipairs(servers) do
            await("the move", function() return pages(one) == before[i] + 1 end)
            await("its record", function()
                local entries = audit.read(ctl.folder .. "/audit.log")
                return entries[2] and entries[1].policy == "once"
            end)
            assert.is_nil(automove(one))
        end
        local page
        await("metrics of both", function()
            local peer = assert(socket.connect("127.0.0.1", tonumber(port)))
            peer:settimeout(60)
            peer:send("GET /metrics HTTP/1.1\r\n\r\n")
            page = peer:receive("*a")
            peer:close()
            return select(2, page:gsub('slate_pilot_pages_total{server="[^"]+"} 1\n', "")) == 2
                and select(2, page:gsub('state="flying"} 1\n', "")) == 2
        end)
        assert.truthy(page:find("\nslate_pilot_up 1\n", 1, true) and page:find("\nslate_pilot_applies 1\n", 1, true))
        local code, _, err = ctl.run(("-s %s policy run free-pages --apply --once"):format(servers[1].address))
        assert.equal(75, code, err)
        stop(pid, "INT")
        for i, one in ipairs(servers) do
            assert.equal("1", (automove(one):gsub("ratio", "1")))
            ctl.succeed(("-s %s undo"):format(one.address))
            assert.equal(before[i], pages(one))
        end
    end)

    it("gives both servers back when it is killed", function()
        local pid = start("free-pages --apply --interval 50ms")
        for _, one in ipairs(servers) do
            await("the takeover", function() return said():find(one.address .. ": flying\n", 1, true) end)
            assert.is_nil(automove(one))
        end
        stop(pid, "KILL")
        for _, one in ipairs(servers) do
            await("automove", function() return automove(one) end)
        end
    end)

    it("takes the move back and leaves all servers when a guard is crossed", function()
        local before = { pages(servers[1]), pages(servers[2]) }
        -- A class of which one has more pages than before: the mood of its client changes with that.
        local pid = tonumber(server.capture(("cd %s && exec lua5.4 tests/spec/support/mood.lua %s pages_of_5 %d "
            .. "</dev/null >/dev/null 2>&1 & echo $!"):format(server.quoted(ctl.root),
            server.quoted(servers[1].address), before[1] + 1)))
        await("reads", function()
            return with_client(servers[1], function(client)
                return table.concat(assert(client:stats("")), "\n"):find("get_hits [1-9]%d%d")
            end)
        end)
        local code, _, err = ctl.run("-s file:fleet fleet pilot ./once.lua window_s=2 --apply --interval 100ms "
            .. "--watch 20s --guard hit-5")
        os.execute("kill " .. pid)
        assert.equal(1, code, err)
        assert.truthy(err:find(("slatectl: hands off: %s: hit went from "):format(servers[1].address), 1, true), err)
        assert.truthy(err:find("; the move was taken back\n$"), err)
        assert.equal(before[1], pages(servers[1]))
        for _, one in ipairs(servers) do
            assert.equal("1", (automove(one):gsub("ratio", "1")))
        end
        if pages(servers[2]) > before[2] then
            ctl.succeed(("-s %s undo"):format(servers[2].address))
        end
    end)

    it("leaves all when the policy breaks, and one that somebody else works on", function()
        local code, _, err = ctl.run("-s file:fleet fleet pilot ./broken.lua --apply --interval 50ms")
        assert.equal(1, code)
        assert.truthy(err:find("slatectl: hands off: ", 1, true), err)
        local pid = start("free-pages --apply --interval 50ms")
        for _, one in ipairs(servers) do
            await("the takeover", function() return said():find(one.address .. ": flying\n", 1, true) end)
        end
        with_client(servers[1], function(client) return client:command("slabs automove 2") end)
        await("its leaving", function()
            return said():find(servers[1].address .. ": off: automove was set", 1, true)
        end)
        assert.is_true(server.is_running(pid))
        assert.is_nil(automove(servers[2]))
        stop(pid, "INT")
        assert.truthy(automove(servers[1]) ~= nil and automove(servers[2]) ~= nil)
    end)

    it("follows the file of servers, and tries one again that is away", function()
        local pid = start("free-pages --apply --interval 50ms --refresh 100ms --retry 100ms")
        await("the takeover", function() return said():find(servers[2].address .. ": flying\n", 1, true) end)
        server.write_file(ctl.folder .. "/fleet.new", servers[1].address .. "\n./nobody\n")
        os.rename(ctl.folder .. "/fleet.new", ctl.folder .. "/fleet")
        await("its end", function() return said():find(servers[2].address .. ": ended\n", 1, true) end)
        await("automove", function() return automove(servers[2]) end)
        await("the trying", function() return said():find("./nobody: away: cannot connect", 1, true) end)
        stop(pid, "INT")
        server.write_file(ctl.folder .. "/fleet", servers[1].address .. "\n" .. servers[2].address .. "\n")
        assert.truthy(automove(servers[1]))
    end)

    it("has a unit that systemd takes", function()
        if not os.execute("command -v systemd-analyze >/dev/null") then
            return pending("there is no systemd-analyze")
        end
        local text = command.read_file("man/examples/slate-pilot.service")
        local line = assert(text:match("\nExecStart=/usr/bin/slatectl ([^\n]+)\n"))
        local words = line:gsub("%$SLATE_PILOT_POLICY", "free-pages"):gsub("%$SLATE_PILOT_OPTIONS ", "")
            :gsub("file:/etc/slate/fleet", "file:fleet"):gsub("%-%-listen", "--listen :0 --for 100ms --interval 50ms")
        ctl.succeed(words)
        server.write_file(ctl.folder .. "/slate-pilot.service", (text:gsub("ExecStart=/usr/bin/slatectl",
            "ExecStart=" .. ctl.root .. "/scripts/slatectl")))
        local out = server.capture("systemd-analyze verify " .. ctl.folder .. "/slate-pilot.service 2>&1 | "
            .. "grep slate-pilot | grep -v \"Command 'man \"")
        assert.equal("", out)
    end)
end)
