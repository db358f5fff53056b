-- SPDX-License-Identifier: BSD-3-Clause
local client = require "slate.wire.client"
local make = require("support.snapshots").make
local move = require "slate.act.move"
local outcome = require "slate.act.move_outcome"
local script_transport = require "support.script_transport"

local function class(pages, free_chunks)
    return { chunk_size = 1000, chunks_per_page = 1000, total_pages = pages, free_chunks = free_chunks or 0 }
end

local function before(general)
    general = general or {
        slab_global_page_pool = 2, slabs_moved = 10, slab_reassign_rescues = 0, slab_reassign_busy_items = 0,
    }
    return make(1, { [4] = class(5), [12] = class(1) }, general, { slab_automove = 0, slab_reassign = true })
end

local function plan(src, dst, pages, slated)
    return move.plan(before(), { src = src, dst = dst, pages = pages or 1, slated = slated })
end

describe("move plan", function()
    it("sends one command a page to memcached, and one with a count to slated", function()
        assert.same({ "slabs reassign 4 12", "slabs reassign 4 12" }, plan(4, 12, 2).commands)
        assert.same({ "slabs reassign 4 12 2" }, plan(4, 12, 2, "0.1.0").commands)
        assert.same({ "slabs reassign 4 12" }, plan(4, 12, 1, "0.1.0").commands)
        assert.same({ "slabs reassign -1 12" }, plan(-1, 12).commands)
        assert.same({ "slabs reassign 0 12" }, plan(0, 12).commands)
        assert.same({ "slabs reassign 4 0" }, plan(4, 0).commands)
    end)

    it("refuses a move that the server would refuse, and no other", function()
        local last <const>, unused <const> = "keeps its last one and cannot give ", "holds no pages on this server "
            .. "(classes that do: 4, 12)"
        local sent <const> = "; nothing was sent"
        for _, case in ipairs({ -- source, destination, pages, slated; code and parts of the message
            { 5, 12, 1, nil, "no", unused }, { 4, 5, 1, nil, "no", unused }, { 4, 63, 1, nil, "no", unused },
            { -1, 40, 1, nil, "no", unused }, { 63, 4, 1, nil, "no", unused },
            { -1, 2, 1, nil, "no", "storing one item of the size of class 2 gives it a first page" },
            { 4, 5, 1, "0.1.0" }, { 5, 4, 1, "0.1.0", "no", "" }, -- the rule judges classes without pages
            { 4, 12, 4 }, { 4, 12, 5, nil, "no", "class 4 has 5 pages, " .. last .. "5" .. sent },
            { 12, 4, 1, nil, "no", "class 12 has 1 page, " .. last .. "1" .. sent },
            { 0, 12, 1 }, { 0, 12, 2, nil, "no", "the pool has 2 pages, of which the server leaves the last one "
                .. "and cannot give 2" .. sent },
            { 0, 12, 2, "0.1.0" }, { 0, 12, 3, "0.1.0", "no", "the pool has 2 pages and cannot give 3" .. sent },
            { -1, 12, 1 },
            { -1, 4, 1, nil, "no", "the other classes can spare 0 pages, for each keeps its last one, and "
                .. "cannot give 1" .. sent },
            { 4, 4, 1, nil, "usage", "" }, { -2, 4, 1, nil, "usage", "" }, { 4, -1, 1, nil, "usage", "" },
            { 4, 256, 1, nil, "usage", "" }, { 256, 4, 1, nil, "usage", "" }, { 4, 12, 0, nil, "usage", "" },
        }) do
            local src, dst, pages, slated, wanted, part = table.unpack(case, 1, 6)
            local made, message, code = plan(src, dst, pages, slated)
            assert.equal(wanted == nil, made ~= nil, message)
            assert.equal(wanted, made == nil and code or nil)
            assert.truthy(not part or message:find(part, 1, true), message)
        end
        assert.is_nil(select(2, plan(5, 12)):find("first page", 1, true)) -- a source has nothing to give, then or now
    end)

    it("gives pages to classes of slated that have none, unless they are being emptied", function()
        for dst, message in pairs({ [5] = false, [99] = "there is no class 99 on this server; nothing was sent",
            [6] = "class 6 is being emptied by a change of the chunk sizes and gets no pages; nothing was sent" }) do
            assert.equal(message or nil, (select(2, move.plan(before(), { src = 4, dst = dst, pages = 1,
                slated = "0.1.0", class_states = { [4] = "active", [5] = "active", [6] = "retired" } }))))
        end
    end)

    it("refuses where the server moves no pages or has no pool", function()
        local fixed = before()
        fixed.settings.slab_reassign = false
        assert.equal("refused", select(3, move.plan(fixed, { src = 4, dst = 12, pages = 1 })))
        assert.equal("unsupported", select(3, move.plan(before({}), { src = 0, dst = 12, pages = 1 })))
    end)

    it("bounds the loss by the free chunks of the source", function()
        local now = make(1, { [4] = class(5, 1500), [12] = class(1) }, {}, {})
        assert.equal(0, move.plan(now, { src = 4, dst = 12, pages = 1 }).items_at_risk)
        assert.equal(500, move.plan(now, { src = 4, dst = 12, pages = 2 }).items_at_risk)
    end)

    it("describes itself", function()
        local now = before()
        now.settings.slab_automove = 1
        local words = table.concat(move.describe(move.plan(now, { src = 4, dst = 12, pages = 2 })), "\n")
        for _, part in ipairs({ "slabs reassign 4 12 (2 times", "class 4: 5 -> 3 pages", "class 12: 1 -> 3 pages",
            "at most 2000 items may be lost", "automove is ratio and may move pages back" }) do
            assert.truthy(words:find(part, 1, true), words)
        end
        words = table.concat(move.describe(move.plan(now, { src = 4, dst = 12, pages = 4 })), "\n")
        assert.truthy(words:find("class 4: 5 -> 1 page\n", 1, true), words)
    end)

    it("says of any class which they may be, and how many pages at most", function()
        local now = make(1, { [4] = class(5), [7] = class(1), [9] = class(2), [12] = class(1) }, {}, {})
        local function words(pages, slated)
            local states = slated and { [12] = "active" }
            return table.concat(move.describe(assert(move.plan(now,
                { src = -1, dst = 12, pages = pages, slated = slated, class_states = states }))), "\n")
        end
        local of = "the server picks the source, of these classes (with the most pages that each can give): "
        assert.equal("would send: slabs reassign -1 12\n" .. of .. "4 (1), 9 (1)\n"
            .. "at most 1 page in all; how many items may be lost depends on the source\nclass 12: 1 -> 2 pages",
            words(1))
        assert.truthy(words(5):find(of .. "4 (4), 9 (1)\nat most 5 pages", 1, true))
        assert.truthy(words(2, "0.1.0"):find("the source, a page of least worth each time, of these", 1, true))
        local made, message, code = move.plan(now, { src = -1, dst = 12, pages = 6 })
        assert.is_nil(made)
        assert.equal("no", code)
        assert.truthy(message:find("can spare 5 pages, for each keeps its last one, and cannot give 6", 1, true),
            message)
    end)
end)

-- Replies of a server in which `moved` pages have moved.
local function stats_reply(moved, running, busy_items)
    return ("STAT slabs_moved %d\r\nSTAT slab_reassign_running %d\r\nSTAT slab_reassign_busy_items %d\r\n"
        .. "STAT slab_reassign_rescues %d\r\nEND\r\n"):format(10 + moved, running and 1 or 0, busy_items or 0,
        moved * 7)
end

local function final_reply(src_pages, dst_pages, moved, busy_items)
    return stats_reply(moved, false, busy_items)
        .. ("STAT 4:total_pages %d\r\nSTAT 12:total_pages %d\r\nEND\r\nEND\r\n"):format(src_pages, dst_pages)
end

local FINAL <const> = "stats\r\nstats slabs\r\nstats items\r\n"

local MOVES <const> = "stats moves\r\n"

local function moves_reply(evicted) return ("STAT mode off\r\nSTAT evicted %d\r\nEND\r\n"):format(evicted) end

local function run(script, pages, options, slated)
    local transport = script_transport.new(script)
    local made = assert(plan(4, 12, pages or 1, slated))
    local result, message, code = move.run(client.new(transport), made, {
        wait = options.wait, limit_s = options.limit_s or 30, progress = options.progress, result = options.result,
    })
    return result, message, code, transport, made
end

describe("move", function()
    it("verifies by page counts, not by the OK", function()
        local result, _, _, transport, made = run({
            { "slabs reassign 4 12\r\n", "OK\r\n" },
            { "stats\r\n", stats_reply(0, true) }, { "stats\r\n", stats_reply(1, false) },
            { FINAL, final_reply(4, 2, 1) },
        }, 1, { wait = true })
        assert.is_true(transport:is_done())
        assert.equal("moved", result.state)
        assert.equal(1, result.pages_moved)
        assert.equal(7, result.items_rescued)
        assert.truthy(outcome.words(made, result):find("moved 1 of 1 page from class 4 to class 12", 1, true))
        assert.truthy(outcome.words(made, result):find("class 12 has 2 pages (was 1)", 1, true))
        result.dst_pages_after = 1
        assert.truthy(outcome.words(made, result):find("class 12 has 1 page (was 1)", 1, true))
    end)

    -- The verdict on one page that the server counted and that is in its old place; more general statistics.
    local function why_it_did_not_stay(automove, stored)
        local first = before({ slabs_moved = 10, total_items = 100 })
        first.settings.slab_automove = automove
        local made = assert(move.plan(first, { src = 4, dst = 12, pages = 1 }))
        local after = before({ slabs_moved = 11, total_items = stored and 100 + stored })
        return outcome.verify({}, made, after).why
    end

    it("blames for a page that did not stay only causes that were seen", function()
        local seen <const> = "the server counted 1 page move, but the page counts do not show it"
        assert.equal(seen .. " (automove is off; nothing was stored meanwhile)", why_it_did_not_stay(0, 0))
        assert.equal(seen .. " (automove is off; 1 item stored meanwhile may have taken pages)",
            why_it_did_not_stay(0, 1))
        assert.equal(seen .. " (automove is eviction and may have moved pages back; nothing was stored meanwhile)",
            why_it_did_not_stay(2, 0))
        assert.equal(seen, why_it_did_not_stay(nil, nil))
    end)

    local function lost_on_slated(moves_before, moves_after)
        local result, _, _, _, made = run({
            { MOVES, moves_before }, { "slabs reassign 4 12\r\n", "OK\r\n" },
            { "stats\r\n", stats_reply(1, false) }, { FINAL, final_reply(4, 2, 1) }, { MOVES, moves_after },
        }, 1, { wait = true }, "0.1.0")
        return result.items_lost, outcome.words(made, result)
    end

    it("counts on slated the items that moves evicted", function()
        local lost, words = lost_on_slated(moves_reply(5), moves_reply(47))
        assert.equal(42, lost)
        assert.truthy(words:find("; 42 items lost", 1, true), words)
        assert.equal(0, (lost_on_slated(moves_reply(5), moves_reply(5))))
        lost, words = lost_on_slated(moves_reply(5), moves_reply(6))
        assert.equal(1, lost)
        assert.truthy(words:find("; 1 item lost", 1, true), words)
    end)

    it("says on slated why a move gave up, by the server's own record", function()
        local function record(number, how)
            local lines = { "STAT mode off", "STAT pages_moved 0", "STAT running 0", "STAT last_busy no room" }
            for name, value in pairs({ time = 1, mode = "operator", from = 4, to = 12, pages = 0, wanted = 1,
                rescued = 0, lost = 0, expired = 0, duration_us = 1, outcome = how, reason = "slabs reassign" }) do
                lines[#lines + 1] = ("STAT %d:%s %s"):format(number, name, value)
            end
            return lines
        end
        local function why(result, before_lines, after_lines)
            local made = assert(move.plan(before(), { src = 4, dst = 12, pages = 1, slated = "0.1.0" }))
            made.moves_before, made.moves_after = before_lines, after_lines
            return outcome.verify(result, made, before()).why
        end
        local old, new = record(7, "given up, a reader held items"), record(8, "given up, there was no room")
        assert.equal("given up, there was no room", why({}, old, new))
        assert.equal("time is up: given up, there was no room", why({ why = "time is up" }, old, new))
        assert.equal("time is up", why({ why = "time is up" }, old, old), "an earlier move's reason is not this one's")
        old[3] = "STAT running 1"
        assert.equal("time is up: no room", why({ why = "time is up" }, old, old))
    end)

    it("leaves out an unknown loss", function()
        for _, pair in ipairs({ { moves_reply(5), moves_reply(4) }, { "ERROR\r\n", moves_reply(4) },
            { moves_reply(4), "END\r\n" } }) do
            local lost, words = lost_on_slated(pair[1], pair[2])
            assert.is_nil(lost)
            assert.is_nil(words:find("lost", 1, true), words)
        end
    end)

    local function verified_on_memcached(evicted_before, evicted_after)
        local first, after = before(), before()
        first.classes[1].evicted, after.classes[1].evicted = evicted_before, evicted_after
        first.general.slab_reassign_busy_deletes, after.general.slab_reassign_busy_deletes = 3, 5
        after.classes[1].total_pages, after.classes[2].total_pages = 4, 2
        local made = assert(move.plan(first, { src = 4, dst = 12, pages = 1 }))
        local result = outcome.verify({ elapsed_s = 0, busy_retries = 0 }, made, after)
        return result, outcome.words(made, result)
    end

    it("gives on memcached the most that can have been evicted, and never a number of losses", function()
        local result, words = verified_on_memcached(10, 30)
        assert.equal("moved", result.state)
        assert.is_nil(result.items_lost)
        assert.equal(22, result.items_evicted_at_most)
        assert.truthy(words:find("; at most 22 older items evicted for them", 1, true), words)
        result.items_rescued = 22
        assert.truthy(outcome.words({ src = 4, dst = 12, pages = 1 }, result):find(
            "; 22 items moved over; at most as many older ones evicted for them", 1, true))
        for _, pair in ipairs({ { nil, 30 }, { 10, nil }, { 30, 10 } }) do
            result, words = verified_on_memcached(pair[1], pair[2])
            assert.is_nil(result.items_lost)
            assert.is_nil(result.items_evicted_at_most)
            assert.is_nil(words:find("evicted", 1, true), words)
        end
    end)

    it("says so when the mover gives the page up", function()
        local result = run({
            { "slabs reassign 4 12\r\n", "OK\r\n" }, { "stats\r\n", stats_reply(0, false, 5), again = true },
            { FINAL, final_reply(5, 1, 0, 5) },
        }, 1, { wait = true })
        assert.equal("not moved", result.state)
        assert.equal("the server gave the move up (5 busy items)", result.why)
    end)

    it("stops waiting when time is up", function()
        local result = run({
            { "slabs reassign 4 12\r\n", "OK\r\n" }, { "stats\r\n", stats_reply(0, true), again = true },
            { FINAL, final_reply(5, 1, 0) },
        }, 1, { wait = true, limit_s = 0.1 })
        assert.equal("not moved", result.state)
        assert.equal("time is up", result.why)
    end)

    it("tries again while the server is busy, and counts the tries", function()
        local busy = "BUSY currently processing reassign request\r\n"
        local result = run({
            { "slabs reassign 4 12\r\n", busy }, { "slabs reassign 4 12\r\n", busy },
            { "slabs reassign 4 12\r\n", "OK\r\n" },
        }, 1, {})
        assert.equal("accepted", result.state)
        assert.equal(2, result.busy_retries)
    end)

    it("gives up on a server that stays busy", function()
        local result, message, code = run({
            { "slabs reassign 4 12\r\n", "BUSY currently processing reassign request\r\n", again = true },
        }, 1, { limit_s = 0.1 })
        assert.is_nil(result)
        assert.equal("busy", code)
        assert.truthy(message:find("still busy", 1, true))
    end)

    it("moves many pages one after the other, and reports how many", function()
        local steps = {}
        local result, _, _, _, made = run({
            { "slabs reassign 4 12\r\n", "OK\r\n" },
            { "stats\r\n", stats_reply(0, true) }, { "stats\r\n", stats_reply(1, false) },
            { "slabs reassign 4 12\r\n", "NOSPARE source class has no spare pages\r\n" },
            { FINAL, final_reply(4, 2, 1) },
        }, 2, { wait = true, progress = function(moved, wanted) steps[#steps + 1] = moved .. "/" .. wanted end })
        assert.equal("partly", result.state)
        assert.equal("no", result.code)
        assert.same({ "0/2" }, steps)
        assert.truthy(outcome.words(made, result):find("moved 1 of 2 pages", 1, true))
        assert.truthy(result.why:find("no page to spare", 1, true))
    end)

    it("turns each refusal into words and a code", function()
        for reply, expected in pairs({
            ["BADCLASS invalid src or dst class id"] = "no", ["NOSPARE source class has no spare pages"] = "no",
            ["SAME src and dst class are identical"] = "usage", ["UNSAFE x"] = "no", ["ERROR"] = "unsupported",
            ["CLIENT_ERROR slab reassignment disabled"] = "refused", ["ERROR not allowed"] = "refused",
            ["what"] = "protocol",
        }) do
            local result, message, code = run({ { "slabs reassign 4 12\r\n", reply .. "\r\n" } }, 1, {})
            assert.is_nil(result)
            assert.equal(expected, code, reply)
            assert.truthy(message:find(reply, 1, true), message)
        end
    end)

    it("does not pretend to see the outcome on a server that does not count moves", function()
        local transport = script_transport.new({
            { "slabs reassign 4 12\r\n", "OK\r\n" }, { "stats\r\n", "STAT pid 1\r\nEND\r\n" },
        })
        local _, message, code = move.run(client.new(transport), plan(4, 12), { wait = true, limit_s = 5 })
        assert.equal("unsupported", code)
        assert.truthy(message:find("slabs_moved", 1, true))
    end)

    it("reports a connection lost half-way", function()
        local result, _, code = run({
            { "slabs reassign 4 12\r\n", "OK\r\n" }, { "stats\r\n", false },
        }, 1, { wait = true })
        assert.is_nil(result)
        assert.equal("closed", code)
    end)
end)
