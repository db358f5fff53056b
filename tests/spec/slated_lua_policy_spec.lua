-- SPDX-License-Identifier: BSD-3-Clause
-- Policies in Lua that slated runs by itself.
local fill = require "support.fill"
local patience = require "support.patience"
local policy = require "slate.policy.file"
local run = require "slate.act.policy_run"
local server = require "support.server"
require "support.world"

describe("slabs automove lua:NAME", function()
    local one, client, folder

    setup(function()
        folder = server.folder()
        os.execute(("cp tests/fixtures/policies/floor.lua %s/"):format(folder))
        for name, text in pairs({
            back = [[return { decide = function(_, after)
                local five, last = after.by_id[5], after.last_moves[1]
                if last or not five then
                    return {}, last and ("moved %d, seen %d before"):format(last.moved, #after.history)
                end
                return { { from = 12, to = 5, reason = ("victims live %.0f s, a page costs %.1f"):format(
                    five.victim_age_s, page_gain(five, -1)) } }
            end }]],
            later = "return { decide = function() error('no more', 0) end }",
            broken = "return {",
            empty = "",
            endless = "while true do end",
        }) do
            server.write_file(("%s/%s.lua"):format(folder, name), text)
        end
        one = server.start({ args = { "-m", "32", "-o", "slab_automove=0", "--policy-dir=" .. folder, "-v", "-v" } })
        client = one:connect()
        assert.equal(2, fill.fill(client, 5, 2))
        assert.is_true(fill.fill(client, 12) >= 10)
    end)
    teardown(function()
        client:close()
        one:stop()
        server.remove_folder(folder)
    end)

    local function value(group, name)
        for _, line in ipairs(assert(client:stats(group))) do
            local found = line:match("^STAT " .. name .. " (.*)$")
            if found then
                return found
            end
        end
    end

    local eventually = patience.wait_for -- every decision of the daemon is a second apart

    it("runs the policy on the tuner, which makes its moves and says why", function()
        assert.equal("OK", client:command("slabs automove lua:floor floors=5:4"))
        assert.equal("lua:floor floors=5:4", value("settings", "slab_automove"))
        eventually("the pages", function() return fill.pages_of(client, 5) == 4 end)
        eventually("its word", function()
            return value("moves", "why") == "every class has the pages it was promised"
        end)
        assert.equal("none", value("moves", "failed"))
    end)

    it("shows the policy rates, the results of its last moves, and earlier decisions", function()
        assert.equal("OK", client:command("slabs automove lua:back"))
        eventually("its move", function() return (value("moves", "why") or ""):find("^moved 1, seen %d+ before$") end)
        assert.equal("none", value("moves", "failed"))
        assert.equal("OK", client:command("slabs automove lua:floor floors=5:4"))
    end)

    it("gets curves of its classes beside a slated, when it requests them", function()
        local source = [[return { curves = true, decide = function(_, after)
            return {}, after.by_id[12].curve and "class 12 has a curve" or "none"
        end }]]
        local function said(text)
            local runner = run.new(client, assert(assert(policy.load(text, "it.lua")):start({})), {
                server = one.address, slated = "0.1.0", dry_run = true })
            assert.is_false((runner:round()))
            require("slate.base.clock").sleep(1)
            return assert(runner:round()).why
        end
        assert.equal("class 12 has a curve", said(source))
        assert.equal("none", said((source:gsub("curves = true, ", ""))))
    end)

    it("refuses a name that is none, and a policy that is not there", function()
        local line = client:command("slabs automove lua:../floor")
        assert.truthy(line:find("^CLIENT_ERROR automove: a policy's name is up to 48 letters"), line)
        line = client:command("slabs automove lua:nosuch")
        assert.truthy(line:find("CLIENT_ERROR automove: there is no policy nosuch in " .. folder, 1, true), line)
        assert.equal("lua:floor floors=5:4", value("settings", "slab_automove"))
    end)

    it("refuses at once a policy that does not load, and unknown settings", function()
        for given, said in pairs({
            ["lua:floor floors=5:4 pages_max=0"] = "setting pages_max wants a number from 1",
            ["lua:broken"] = "broken.lua:1: ",
            ["lua:empty"] = "not a table with a function decide",
            ["lua:endless"] = "took more than 10000000 instructions",
            ["random seed=1"] = "wants 0, 1, 2 or one of",
        }) do
            local line = client:command("slabs automove " .. given)
            assert.truthy(line:find("^CLIENT_ERROR automove:? ") and line:find(said, 1, true), given .. ": " .. line)
            assert.equal("lua:floor floors=5:4", value("settings", "slab_automove"))
        end
        local line = client:command("config set slab_automove lua:broken")
        assert.truthy(line:find("CLIENT_ERROR slab_automove: broken.lua:1: ", 1, true), line)
        assert.equal("OK", client:command("config set slab_automove lua:later"))
        assert.equal("none", value("moves", "failed"))
    end)

    -- Until a newly set mode has decided, the one before may run.
    local function await_decision(mode)
        eventually("a decision", function()
            return value("moves", "mode") == mode and value("moves", "why") ~= "nothing was decided yet"
        end)
    end

    it("falls back to the mode before when the policy breaks, and says so in stats moves, log and audit", function()
        assert.equal("OK", client:command("slabs automove eviction"))
        await_decision("eviction")
        assert.equal("OK", client:command("slabs automove lua:later"))
        local logged = "warn: automove lua:later failed, eviction takes its place: "
        eventually(logged, function() return one:log():find(logged, 1, true) end)
        eventually("mode 2", function() return value("settings", "slab_automove") == "2" end)
        assert.equal("eviction", value("moves", "mode"))
        assert.truthy(value("moves", "failed"):find("lua:later: no more", 1, true), value("moves", "failed"))
        local audit = table.concat(assert(client:stats("audit")), "\n")
        assert.truthy(audit:find("lua:later failed: no more", 1, true), audit)
    end)

    it("falls back to off when the mode before breaks as well", function()
        assert.equal("OK", client:command("slabs automove lua:floor floors=5:4"))
        await_decision("lua:floor floors=5:4")
        os.remove(folder .. "/floor.lua")
        assert.equal("OK", client:command("slabs automove lua:later"))
        local logged = "warn: automove lua:later failed, off takes its place: "
        eventually(logged, function() return one:log():find(logged, 1, true) end)
        eventually("mode 0", function() return value("settings", "slab_automove") == "0" end)
        assert.equal("off", value("moves", "mode"))
        assert.equal("OK", client:command("slabs automove off"))
    end)
end)
