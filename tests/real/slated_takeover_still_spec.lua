-- SPDX-License-Identifier: BSD-3-Clause
-- One of two processes stands still amid a takeover, as by SIGSTOP, in a debugger or for want of memory: each wait of
-- the other has an end, and then the one with the items goes on. All pairs wait at the same time.
local patience = require "support.patience"
local server = require "support.server"
local socket = require "socket"
local takeover = require "support.takeover"
local wire = require "support.wire"

local BINARY <const> = os.getenv("SLATE_TEST_SERVER_DEBUG") or "build-debug/bin/slated"
local PATIENCE_S <const> = 300 -- half a minute is the longest wait of these servers
local STOPS <const>, STOP_LATEST_MS <const> = 12, 60

local function is_still(pid)
    return (server.read_file(("/proc/%d/stat"):format(pid)) or ""):find("%) T ") ~= nil
end

local function go_on(pid)
    assert(os.execute("kill -CONT " .. pid))
end

describe("a takeover in which one stands still", function()
    local places

    -- Two servers; the next one must take over from the first: { place, first, next, client, point }.
    local function pair(point, who, words)
        local place = takeover.place { words = "-m 64", binary = BINARY }
        places[#places + 1] = place
        local still = "SLATED_STOP_AT=" .. point
        local p = { place = place, point = point, first = place:start(words, who == "first" and still) }
        assert.equal("STORED", wire.ask(place:connect(), "set item 0 0 4\r\nkept"))
        p.next = place:run((words or "") .. " --takeover", who == "next" and still)
        return p
    end

    local function pairs_at(who, points)
        local list = {}
        for i, point in ipairs(points) do
            list[i] = pair(point, who)
        end
        for _, p in ipairs(list) do
            patience.wait_for(("the %s to stand still at %s"):format(who, p.point), function()
                return is_still(p[who])
            end)
        end
        return list
    end

    local function wait_for_end(p, who)
        patience.wait_for(("the %s of %s to end"):format(who, p.point), function()
            return not server.is_running(p[who])
        end, PATIENCE_S)
    end

    local function assert_serves(p, who)
        patience.wait_for(("the %s of %s to serve"):format(who, p.point), function()
            return p.place:serving() == p[who]
        end, PATIENCE_S)
        local client = p.place:connect() -- waits while no process serves
        client:settimeout(PATIENCE_S)
        assert.equal("HD", wire.ask(client, "mg item"), p.point)
        client:close()
    end

    local function says(p, words)
        patience.wait_for(("the log of %s to say %s"):format(p.point, words), function()
            return p.place:log():find(words, 1, true)
        end, PATIENCE_S)
    end

    before_each(function() places = {} end)
    after_each(function()
        for _, place in ipairs(places) do
            place:finish()
        end
    end)

    -- No build needs a named point to stop: the signal stops the process anywhere.
    local function stopped_at_random()
        local seed, list = os.time(), {}
        print(("seed %d"):format(seed))
        math.randomseed(seed)
        for i = 1, STOPS do
            local place = takeover.place { words = "-m 64" }
            places[#places + 1] = place
            local p = { place = place, point = "stop " .. i, first = place:start() }
            assert.equal("STORED", wire.ask(place:connect(), "set item 0 0 4\r\nkept"))
            p.next = place:run("--takeover")
            socket.sleep(math.random(0, STOP_LATEST_MS) / 1000)
            os.execute(("kill -STOP %d 2>/dev/null"):format(p.first)) -- the first server may have left
            list[i] = p
        end
        return list
    end

    local function assert_one_goes_on(p)
        patience.wait_for(p.point .. ": the next one to serve or to end", function()
            return p.place:serving() == p.next or not server.is_running(p.next)
        end, PATIENCE_S)
        os.execute(("kill -CONT %d 2>/dev/null"):format(p.first))
        if server.is_running(p.next) then
            wait_for_end(p, "first")
            assert_serves(p, "next")
        else
            assert_serves(p, "first")
        end
    end

    it("goes on in the one that has the items, wherever the other stands still", function()
        local anywhere = stopped_at_random()
        if not os.execute("test -x " .. server.quoted(BINARY)) then -- a debug build, which can stop at a named point
            for _, p in ipairs(anywhere) do
                assert_one_goes_on(p)
            end
            return pending("needs the debug build: make DEBUG=1")
        end
        local being_built = pairs_at("next", { "next_offered", "next_built" })
        local to_serve = pairs_at("next", { "next_goes_on", "item_adopted", "about_to_serve", "next_serves" })
        local hands_over = pairs_at("first", { "offer_made", "offered", "next_ready", "left" })
        local handed_over = pairs_at("first", { "next_goes" })[1]
        local never_built = pairs_at("next", { "next_built" })[1]
        local dropped = pair("next_goes_on", "next", "-o drop_privileges")

        -- The first goes on while the next one is stopped, and hands over once that one goes on.
        for _, p in ipairs(being_built) do
            assert_serves(p, "first")
            go_on(p.next)
            assert_serves(p, "next")
            wait_for_end(p, "first")
        end
        -- The first server goes on after some seconds if the next one should serve by then.
        for _, p in ipairs(to_serve) do
            assert_serves(p, "first")
            wait_for_end(p, "next") -- still stopped
            says(p, ("process %d does not serve within 5 s: it is killed"):format(p.next))
            p.place:take_over()
            assert.equal("HD", wire.ask(p.place:connect(), "mg item"), p.point)
        end
        -- A server that has dropped its privileges kills the next process, too, or waits on an old kernel.
        says(dropped, "does not serve within 5 s")
        if dropped.place:log():find("it is killed", 1, true) then
            wait_for_end(dropped, "next")
            assert_serves(dropped, "first")
        else
            go_on(dropped.next)
            assert_serves(dropped, "next")
        end
        -- Each ends a step after half a minute if the other does not go on.
        assert_serves(handed_over, "next")
        go_on(handed_over.first)
        wait_for_end(handed_over, "first")
        assert_serves(handed_over, "next")
        for _, p in ipairs(hands_over) do
            wait_for_end(p, "next")
            says(p, "cannot take over: the running server does not answer")
            go_on(p.first)
            says(p, "; this one goes on")
            assert_serves(p, "first")
        end
        says(never_built, "it is not built in time, and is killed; this one goes on")
        wait_for_end(never_built, "next")
        assert_serves(never_built, "first")
        for _, p in ipairs(anywhere) do
            assert_one_goes_on(p)
        end
    end)
end)
