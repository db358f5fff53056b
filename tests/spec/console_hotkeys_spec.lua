-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's view of hot keys, and the reason why an answer is not there.
require "support.world"
local filter = require "slate.console.overlay.filter"
local screens = require "screens"
local view = require "slate.console.views.hotkeys"
local shows = screens.shows

local function drawn(frame, ui, width, height)
    return screens.text(screens.grid("views.hotkeys", frame, width or 80, height or 24, ui))
end

-- A frame of a slated with an answer to `stats hotkeys`: lines without "STAT"; nil: that of the fixture.
local function answered(lines)
    local model = screens.model("slated-0.1")
    screens.take_details(model, "slated-0.1-second", 13, 12)
    if lines then
        model.answers:take("hotkeys", lines:gsub("[^;]+; ?", "STAT %0"):gsub("; ?", "\r\n") .. "END\r\n",
            { at_s = 12, is_stats = true })
    end
    return screens.frame(model)
end

describe("the view of hot keys", function()
    it("has the least and the most of each share, and the whole name of the key under the cursor", function()
        local ui = { hotkeys = view.state() }
        shows(drawn(answered(), ui), "  1 key-0000000000000000000000000000", "3.0-3.2",
            "389K requests; the first 10 keys have 8.7 to 12.5 % of them",
            "key: key-0000000000000000000000000000")
        view.command(nil, ui, "bottom")
        shows(drawn(answered(), ui), "\n 20 key-", "key: key-0000000000000000000000000269")
    end)

    for _, case in ipairs({
        { "chance widens a share, and without bytes and a time there are no rates",
            "requests 1000; noted 60; 1:key one; 1:requests 300; 1:error 50; 1:doubt 100;",
            " -  15.0-40.0       -          -" },
        { "requests and bytes a second have a share each",
            "requests 1000; bytes 4096000; seconds 10.0; 1:key user:1; 1:requests 300; 1:error 0; 1:doubt 50; "
                .. "1:bytes 2048000; 1:bytes_error 0; 1:bytes_doubt 409600;",
            "user:1 ", " 30  25.0-35.0   200Ki  40.0-60.0" },
        { "without hot keys it says so", "requests 0;", "no key is hot" },
    }) do
        it(case[1], function()
            shows(drawn(answered(case[2])), table.unpack(case, 3))
        end)
    end

    it("shows names as typed where the terminal has their letters, and others so that they differ", function()
        local text = drawn(answered("requests 1000; 1:key корзина:1; 1:requests 300; 1:error 0; "
            .. "2:key 買い物:😀; 2:requests 200; 2:error 0; 3:key สาม; 3:requests 100; 3:error 0; "
            .. "4:key สาย; 4:requests 90; 4:error 0;"))
        shows(text, "  1 корзина:1 ", "  2 買い物:😀 ", "  3 %E0%B8%AA%E0%B8%B2%E0%B8%A1 ",
            "  4 %E0%B8%AA%E0%B8%B2%E0%B8%A2 ")
        assert.equal(text:match("корзина:1( +)"), text:match("買い物:😀( +)"), "both have nine columns")
    end)

    it("has the requests on a narrow screen, and a bar on a wide one", function()
        local frame = answered("requests 1000; seconds 10.0; 1:key user:1; 1:requests 300; 1:error 100; 1:doubt 50;")
        local grid = screens.grid("views.hotkeys", frame, 40, 10)
        shows(screens.text(grid), "user:1 ", " 25  15.0-35.0\n")
        assert.equal(0, grid.clipped)
        shows(drawn(frame, nil, 130, 10), "█sure ░maybe", "15.0-35.0       -          - ████░░░░░")
    end)

    it("leaves out the middle of a long name, so that names differ, and never writes over its filter", function()
        local ui = { hotkeys = view.state() }
        local text = drawn(answered(), ui, 60, 15)
        shows(text, "  1 key-0000…00000000 ", " NR KEY    12 more ↓ ")
        ui.hotkeys.filter = "key-00000"
        shows(drawn(answered(), ui, 60, 15), " NR KEY with 'k… ")
        ui.hotkeys.filter = ""
        local names, count = {}, 0
        for name in drawn(answered(), ui, 60, 40):gmatch("\n *%d+ (key%S+)") do
            count = count + (names[name] and 0 or 1)
            names[name] = true
        end
        assert.equal(20, count)
    end)

    it("sorts by requests or by bytes, and shows the keys with a text in their names", function()
        local ui = { hotkeys = view.state() }
        local frame = answered("requests 1000; bytes 9000; seconds 10.0; 1:key user:1; 1:requests 300; 1:error 0; "
            .. "1:bytes 100; 2:key page:1; 2:requests 200; 2:error 0; 2:bytes 8000;")
        shows(drawn(frame, ui), "REQ/s▼", "  1 user:1", "  2 page:1")
        view.command(frame, ui, "sort_next")
        shows(drawn(frame, ui), "READ/s▼", "  1 page:1", "  2 user:1")
        ui.hotkeys.filter = "old"
        filter.open(ui, view) -- what is typed stands in place of the filter before
        for key in ("USER"):gmatch(".") do
            filter.command(frame, ui, nil, key)
        end
        filter.command(frame, ui, "accept", "enter")
        shows(drawn(frame, ui), " NR KEY with 'USER'", "  1 user:1", "key: user:1")
        filter.open(ui, view)
        filter.command(frame, ui, nil, "p")
        shows(drawn(frame, ui), " NR KEY with 'p'", "  1 page:1")
        filter.command(frame, ui, "cancel", "escape") -- keeps the old one, as the key bar says
        shows(drawn(frame, ui), " NR KEY with 'USER'", "  1 user:1")
        ui.hotkeys.filter = "none"
        shows(drawn(frame, ui), "no hot key has 'none' in its name")
    end)

    it("opens one key, whose item the server tells by me", function()
        local ui, wants = { hotkeys = view.state() }, { inquiries = {} }
        local frame = answered("requests 1000; seconds 10.0; 1:key a%C3%BC; 1:requests 300; 1:error 0;")
        local answers = frame.model.answers
        drawn(frame, ui)
        view.command(frame, ui, "open_key")
        view.wants(ui, wants)
        assert.same({ "aü", true }, { wants.item_key, wants.inquiries.item })
        shows(drawn(frame, ui), "waiting for the server")
        for _, case in ipairs({ { "ME aü exp=-1 la=5 cas=7 fetch=no cls=3 size=120\r\n",
            "class 3, 120 B with header and key, never expires, last used at most 5s ago, cas 7; "
            .. "who asks: not known: 9 watches" },
            { "EN\r\n", "no item has this key now" }, { "ERROR\r\n", "needs memcached 1.6" } }) do
            answers:take("item", case[1], { at_s = 13, is_stats = case[1]:find("^ME ") ~= nil })
            shows(drawn(frame, ui, 160), case[2])
            shows(drawn(frame, ui):gsub("%s+", " "), case[2])
        end
        assert.same({ kind = "copy", text = "aü" }, view.command(frame, ui, "copy_key"))
        view.command(frame, ui, "close_key")
        shows(drawn(frame, ui), "key: aü")
    end)

    it("takes a click on a row, and on the head of a figure that sorts", function()
        local ui = { hotkeys = view.state() }
        local grid = screens.grid("views.hotkeys", answered(), 80, 24, ui)
        local kind, row = grid:hot_at(10, 40)
        view.click(ui, kind, row)
        assert.same({ "row", 8, 8 }, { kind, row, ui.hotkeys.cursor })
        local head = screens.text(grid):match("\n( NR KEY[^\n]*)")
        for name, by in pairs({ ["READ/s"] = "bytes", ["REQ/s"] = "requests" }) do
            view.click(ui, grid:hot_at(2, head:find(name) + 1))
            assert.equal(by, ui.hotkeys.by)
        end
    end)

    it("says who asks for the opened key once 9 has watched, and when it is not known", function()
        local ui = { hotkeys = view.state() }
        local frame = answered("requests 1000; seconds 10.0; 1:key user:1; 1:requests 300; 1:error 0;")
        drawn(frame, ui)
        view.command(frame, ui, "open_key")
        frame.model.answers:take("item", "ME user:1 exp=-1 la=5 cas=7 fetch=no cls=3 size=9\r\n",
            { at_s = 13, is_stats = true })
        local asked = { { host = "10.0.0.7", share = 1, connections = 1, ports = { { port = "401", share = 1 } } } }
        local count = { note = "", until_s = frame.now_s + 4, is_under_way = function() return not asked.is_over end,
            who = function(_, key) return key == "user:1" and asked end }
        frame.key_count = count
        shows(drawn(frame, ui, 160), "who asks: watching, 4 s left")
        local wants = { inquiries = {} }
        view.wants(ui, wants) -- slatetop's own request would be seen as one for the key
        assert.same({ inquiries = {} }, wants)
        count.note, asked.is_over = "the server refuses", true
        shows(drawn(frame, ui, 160), "who asks: not known: the server refuses; 9 counts again")
        count.note, count.ended_s = "", frame.now_s
        shows(drawn(frame, ui, 160), "who asks: 10.0.0.7 100 % (port 401)")
        asked = {}
        shows(drawn(frame, ui, 160), "who asks: nobody was seen to ask in ten seconds; 9 watches again")
    end)

    it("tells all of the opened key on a screen of 60x15, whatever its length", function()
        local ui, key = { hotkeys = view.state() }, ("k"):rep(250)
        local frame = answered(("requests 1000; seconds 10.0; 1:key %s; 1:requests 300; 1:error 0;"):format(key))
        drawn(frame, ui)
        view.command(frame, ui, "open_key")
        frame.model.answers:take("item", "ME " .. key .. " exp=-1 la=5 cas=7 fetch=no cls=3 size=420\r\n",
            { at_s = 13, is_stats = true })
        shows(drawn(frame, ui, 60, 15):gsub("%s+", " "), " 1 kkk",
            "last used at most 5s ago, cas 7; who asks: not known: 9 watches all requests")
    end)

    it("has bytes read at most of keys that are counted, for stores are among the reads", function()
        local frame = answered("requests 1000; seconds 10.0; 1:key user:1; 1:requests 300; 1:error 0;")
        frame.model.now.slated, frame.key_count = nil, { hot = frame.model.answers:parsed("hotkeys") }
        shows(drawn(frame), " ≤READ/s ", "1000 requests, gets and stores, in 10 s")
    end)

    it("tells all of a key at 60 columns, and of those that are counted", function()
        local frame = answered("requests 1000; seconds 10.0; 1:key user:1; 1:requests 300; 1:error 0;")
        frame.model.now.slated, frame.key_count = nil, { hot = frame.model.answers:parsed("hotkeys") }
        frame.key_count.hot.lost = 120
        shows(drawn(frame, nil, 60, 15):gsub("%s+", " "),
            "1000 requests, gets and stores, in 10 s, "
            .. "120 of them lost and taken to be like the others; the first key has 30.0 % "
            .. "of them key: user:1")
    end)
end)

describe("an answer that is not there", function()
    for _, case in ipairs({
        { "needs slated in a recording of memcached: %s", "memcached-1.6.18",
            "needs slated; on memcached, slatectl hotkeys", is_replay = true, is_past = true },
        { "may be counted on memcached: %s", "memcached-1.6.18", "9 counts every request for ten seconds" },
        { "may be on its way: %s", "slated-0.1", "waiting for the server" },
        { "may be refused: %s", "slated-0.1", "the server refuses: CLIENT_ERROR not allowed", refusal = true },
        { "is not recorded: %s", "slated-0.1", "the past does not hold this; . returns to live", is_past = true },
        { "is not in a replay: %s", "slated-0.1", "a recording does not hold this", is_past = true, is_replay = true },
    }) do
        it(case[1]:format(case[3]), function()
            local model = screens.model(case[2])
            if case.refusal then
                model.answers:take("hotkeys", "CLIENT_ERROR not allowed\r\n", { at_s = 12, is_stats = false })
            end
            shows(drawn(screens.frame(model, { is_past = case.is_past, is_replay = case.is_replay })), case[3])
        end)
    end

    it("looks as it was reviewed", function()
        assert.is_nil(screens.unlike_reviewed("Keys", "views.hotkeys"))
    end)
end)
