-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl report: the content of its page; a hostile server cannot put a program into the page; and a real browser
-- shows the page at any width.
local browser = require "support.browser"
local command = require "support.command"
local document = require "support.document"
local html = require "slate.chart.html"
local moments = require "slate.report.moments"
local page = require "slate.report.page"
local recordings = require "support.recordings"
local server = require "support.server"
local snapshots = require "support.snapshots"
local story = require "slate.report.story"
local class, make = snapshots.class, snapshots.make

local ABOUT <const> = { source = "from a test", made_s = 1000, version = "0" }
local HOSTILE <const> = [[<img src=x onerror="window.hacked=1">'&</script><script>window.hacked=1</script>]]

-- A server that evicts for a minute; its automove changes at half time.
local function minute(server_name, settings_name)
    local list = {}
    for i = 0, 60 do
        list[i + 1] = make(36000 + i, { [5] = class({ evicted = 100 * i, get_hits = 500 * i, evicted_time = 30 + i,
            mem_requested = 3800000 }), [9] = class({ chunk_size = 5000, evicted = 300 * i, cmd_set = 400 * i }) },
            { evictions = 400 * i, cmd_get = 1000 * i, get_hits = 800 * i, get_misses = 200 * i, cmd_set = 400 * i,
                bytes = 30000000, limit_maxbytes = 64 << 20, curr_items = 8000 },
            { slab_automove = i < 30 and 0 or 1, [settings_name or "verbosity"] = HOSTILE })
        list[i + 1].server = server_name or "here:11211"
        list[i + 1].pages_limit, list[i + 1].pages_free = 64, 56 - i // 20
    end
    return list
end

local function count(text, part)
    local times, at = 0, 1
    while true do
        local from, to = text:find(part, at, true)
        if not from then
            return times
        end
        times, at = times + 1, to + 1
    end
end

describe("a report", function()
    it("shows whatever a server, a key or a change is called as text", function()
        local changes = { { what = "set", name = HOSTILE, was = HOSTILE, is = HOSTILE, server = HOSTILE, time_s = 36010,
            who = HOSTILE, id = 1, outcome = HOSTILE } }
        local one = assert(story.of(minute(HOSTILE, HOSTILE), { entries = changes }))
        local text = page.of({ one, assert(story.of(minute("b\255\27[2J\xe2\x80\xae"), {})) },
            { title = HOSTILE, source = HOSTILE, made_s = 0, version = HOSTILE,
                absent = { { server = HOSTILE, why = HOSTILE } } })
        assert.equal(0, count(text, "<img"))
        assert.is_nil(text:find('[^;]onerror="'))
        assert.equal(1, count(text, "<script>"))
        assert.equal(count(text, "</script>"), count(text, '<script type="application/json" class="values">') + 1)
        assert.truthy(utf8.len(text))
        assert.is_nil(text:find("[\0-\9\11-\31\127]"))
        assert.is_nil(text:find("\u{202e}", 1, true))
    end)

    it("needs no other machine", function()
        local text = page.of({ assert(story.of(table.move(recordings.load("demo"), 1, 9, 1, {}), {})) }, ABOUT)
        for _, part in ipairs({ "http:", "https:", "url(", "@import", "<link rel=\"style", " src=" }) do
            assert.is_nil(text:find(part, 1, true), part)
        end
        assert.truthy(text:find("default-src 'none'", 1, true))
    end)

    it("has each change, its user and its result; and changes that were only seen", function()
        local changes = {
            { id = 1, what = "move", src = 9, dst = 5, pages = 2, server = "here:11211", time_s = 36010, who = "eve",
                outcome = "hits 71.2% -> 77.2%" },
            { id = 2, what = "set", name = "automove", was = "0", is = "1", server = "here:11211", time_s = 36029,
                undoes = 1 },
            { id = 3, what = "set", name = "automove", was = "0", is = "1", server = "else:11211", time_s = 36029 },
            { id = 4, what = "set", name = "automove", was = "0", is = "1", server = "here:11211", time_s = 35000 },
        }
        local one = assert(story.of(minute(), { entries = changes }))
        assert.equal(2, #one.changes) -- the second finding was seen, too, and is printed once
        assert.same({ "2 pages moved from class 9 to class 5", "automove: off → ratio" }, { one.changes[1].what,
            one.changes[2].what })
        local text = page.of({ one }, ABOUT)
        for _, part in ipairs({ "by eve", "hits 71.2% -&gt; 77.2%", "takes back change 1" }) do
            assert.truthy(text:find(part, 1, true), part)
        end
        local seen = assert(story.of(minute(), {})).changes
        assert.equal(1, #seen)
        assert.same({ "slab_automove: off → ratio", true, 36030 }, { seen[1].what, seen[1].seen, seen[1].time_s })
        assert.truthy(page.of({ assert(story.of(minute(), {})) }, ABOUT):find('<span>1</span></div>', 1, true))
    end)

    it("has figures of its span alone, and findings that know the time before", function()
        local list = recordings.load("shift1618")
        local first_s = list[1].time_s
        local whole = assert(story.of(list, {}))
        local late = assert(story.of(list, { from_s = first_s + 60, to_s = first_s + 80 }))
        local early = assert(story.of(list, { to_s = first_s + 30 }))
        local function starves(one)
            for _, finding in ipairs(one.findings) do
                if finding.name == "starving" then
                    return finding
                end
            end
        end
        assert.is_nil(starves(early))
        assert.truthy(starves(whole).from_s >= first_s + 40)
        assert.equal(starves(whole).what, starves(late).what)
        assert.is_true(starves(late).lasts)
        assert.truthy(late.from_s >= first_s + 60 and late.to_s <= first_s + 80)
        assert.is_true(late.figures.whole.hit_ratio < early.figures.whole.hit_ratio)
        assert.equal(starves(whole).severity, whole.verdict.severity)
        local absent, why = story.of(list, { from_s = first_s + 1000 })
        assert.is_nil(absent)
        assert.truthy(why:find("has no snapshot between these times", 1, true))
    end)

    it("puts each class's share of the pages beside its share of the evictions", function()
        local one = assert(story.of(minute(), {}))
        assert.same({ 5, 0.5, 0.25, 100.0 }, { one.classes[1].id, one.classes[1].page_share,
            one.classes[1].eviction_share, one.classes[1].evicted_per_s })
        assert.equal(0.75, one.classes[2].eviction_share)
        assert.equal(1000.0, one.figures.whole.gets_per_s)
        local list = minute()
        for i = 31, 61 do -- class 5 gave a page then, and its move evicted what was in it
            local five = list[i].classes[1]
            five.total_pages, five.evicted = five.total_pages - 1, five.evicted + 3449 - 100
        end
        one = assert(story.of(list, {}))
        assert.equal(5900 / (5900 + 18000), one.classes[1].eviction_share)
        assert.equal((6000 + 3449 - 100) / 60, one.classes[1].evicted_per_s)
    end)

    it("keeps a long time of many classes small", function()
        local list = {}
        for i = 0, 600 do
            local classes = {}
            for id = 1, 40 do
                classes[id] = class({ chunk_size = 100 * id, evicted = i * id, get_hits = i * 3,
                    evicted_time = 1 + (i * id) % 500, used_chunks = (i * id) % 4000 })
            end
            list[i + 1] = make(36000 + i, classes, { evictions = 820 * i, cmd_get = 1000 * i, get_hits = 800 * i,
                get_misses = 200 * i }, { slab_automove = 0 })
        end
        local text = page.of({ assert(story.of(list, {})) }, ABOUT)
        assert.is_true(#text < 2 << 20, ("%d bytes"):format(#text))
        local drawn = tonumber(text:match("(%d+) of 601 snapshots are drawn"))
        assert.is_true(drawn > 200 and drawn < 600, drawn)
    end)
end)

describe("a time of a report", function()
    local BEGIN <const> = 1795538341 -- 2026-11-24 16:39:01 UTC

    it("is read as people write it", function()
        for text, want in pairs({
            ["16:40"] = 1795538400, ["16:40:05"] = 1795538405, ["16:39"] = 1795538340, ["00:10"] = 1795565400,
            ["2026-11-24 16:40"] = 1795538400, ["2026-11-24T16:40:05Z"] = 1795538405, ["2024-02-29 00:00"] = 1709164800,
            ["+5m"] = BEGIN + 300, ["+90"] = BEGIN + 90,
        }) do
            assert.equal(want, assert(moments.parse(text), text)(BEGIN), text)
        end
    end)

    it("is refused when there is none such", function()
        for _, text in ipairs({ "", "25:00", "12:60", "2026-13-01 00:00", "2026-02-29 00:00", "2026-11-00 00:00", "+",
            "+x", "noon", "2026-11-24", "16:40:99", "-5m" }) do
            local moment, why = moments.parse(text)
            assert.is_nil(moment, text)
            assert.truthy(why, text)
        end
    end)
end)

describe("text on a page", function()
    it("keeps readable text and no active content", function()
        assert.equal("a&lt;b&gt;&amp;&quot;&#39;", html.escape([[a<b>&"']]))
        assert.equal("Ü\u{fffd}", html.escape("Ü\xff"))
        assert.equal("\u{fffd}[2J", html.escape("\27[2J"))
        assert.equal("7", html.escape(7))
        assert.is_nil(html.json({ a = "</script><!--" }):find("<", 1, true))
    end)
end)

describe("slatectl report", function()
    local ctl

    setup(function()
        ctl = command.new()
        for _, name in ipairs({ "demo", "falls", "etc-off", "shift1618" }) do
            ctl.shell(("gzip -dc %s/tests/fixtures/recordings/%s.jsonl.gz >%s.jsonl"):format(ctl.root, name, name))
        end
    end)
    teardown(function() ctl.remove() end)

    local function written(name) return command.read_file(ctl.folder .. "/" .. name) end

    it("makes a page of a recording, or of a part of it", function()
        local _, said = ctl.succeed("report demo.jsonl -o a.html")
        assert.truthy(said:find("a.html: %d+ findings of 1 server"), said)
        local text = written("a.html")
        for _, part in ipairs({ "class 13 starves", "Hits and losses", "Slab pages by class" }) do
            assert.truthy(text:find(part, 1, true), part)
        end
        ctl.succeed("report demo.jsonl --from +70s --to +80s --title 'A & B' -o b.html")
        assert.truthy(written("b.html"):find("<h1>A &amp; B</h1>", 1, true))
        assert.truthy(written("b.html"):find("(10s), 10 snapshots", 1, true) or
            written("b.html"):find("(9s), 10 snapshots", 1, true), written("b.html"):match("<header>.-</header>"))
        local told = document((ctl.succeed("report demo.jsonl -o c.html --json")))
        assert.same({ "c.html", 1, #written("c.html") }, { told.file, told.servers, told.bytes })
    end)

    it("makes one page of a fleet, the worst server first", function()
        ctl.succeed("report etc-off.jsonl shift1618.jsonl -o fleet.html")
        local text = written("fleet.html")
        assert.truthy(text:find("2 servers, the worst first", 1, true))
        assert.is_true(text:find(">shift1618</a>", 1, true) < text:find(">etc-off</a>", 1, true))
        assert.truthy(text:find('verdict warning".-verdict good"'))
        assert.truthy(text:find('id="server2"', 1, true))
        assert.truthy(text:find("Hit ratio of 2 servers", 1, true))
    end)

    it("refuses an impossible request with one line, and writes no page", function()
        for _, case in ipairs({
            { "demo.jsonl falls.jsonl localhost:1 -o x.html", 64, "servers, not both" },
            { "demo.jsonl --for 1s -o x.html", 64, "for servers" }, { "absent.jsonl -o x.html", 74, "cannot read" },
            { "127.0.0.1:1 --from 14:00 -o x.html", 64, "for recordings" },
            { "demo.jsonl --from +2m --to +1m -o x.html", 64, "not before" },
            { "demo.jsonl --from +1h -o x.html", 1, "no snapshot between" },
            { "demo.jsonl --from noon -o x.html", 64, "is not a time" },
            { "127.0.0.1:1 --for 1s -o x.html", 69, "cannot connect" },
            { "demo.jsonl -o absent/x.html", 74, "cannot write" },
            { "demo.jsonl --json", 64, "name the page" }, { "demo.jsonl --csv -o x.html", 64, "no rows" },
        }) do
            local code, out, said = ctl.run("report " .. case[1])
            assert.same({ case[2], "" }, { code, out }, case[1] .. said)
            assert.truthy(said:find(case[3], 1, true), case[1] .. ": " .. said)
            assert.equal(1, select(2, said:gsub("\n", "")), said)
            assert.is_nil(io.open(ctl.folder .. "/x.html"))
        end
    end)
end)

for _, kind in ipairs(server.both()) do
    describe("slatectl report of a live " .. kind.name, function()
        it("samples it, and goes on when another server is away", function()
            local one, ctl = server.start({ binary = kind.binary, args = { "-m", "32" } }), command.new()
            ctl.succeed(("report %s %s/none.sock --for 300ms --interval 50ms -o live.html"):format(one.address,
                ctl.folder))
            local text = command.read_file(ctl.folder .. "/live.html")
            assert.truthy(text:find(kind.is_slated and "slated " or "memcached ", 1, true))
            assert.truthy(text:find("none.sock: cannot connect", 1, true))
            assert.truthy(text:find("sampled live", 1, true))
            ctl.remove()
            one:stop()
        end)
    end)
end

describe("a report in a browser", function()
    -- Moves a pointer over every chart, presses the button, and returns the visible texts.
    local PROBE <const> = [[function () {
      var told = { tips: 0, plots: 0, crosses: 0 };
      var tip = document.getElementById("tip"), root = document.documentElement;
      function point(element, share) {
        var box = element.getBoundingClientRect();
        element.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: box.left + share * box.width,
          clientY: box.top + box.height / 2 }));
      }
      told.theme = root.getAttribute("data-theme");
      told.ground = getComputedStyle(document.body).backgroundColor;
      document.getElementById("theme").click();
      told.other_theme = root.getAttribute("data-theme");
      told.other_ground = getComputedStyle(document.body).backgroundColor;
      document.querySelectorAll(".plot").forEach(function (plot) {
        if (!plot.querySelector("script.values")) return;
        told.plots++;
        [0.001, 0.5, 0.999].forEach(function (share) {
          point(plot, share);
          if (!tip.hidden && /\d/.test(tip.textContent)) told.tips++;
          if (!told.first_tip) told.first_tip = tip.innerText;
        });
        told.crosses += plot.querySelectorAll(".cross").length;
        plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
        if (tip.hidden) told.no_keys = true;
        plot.dispatchEvent(new PointerEvent("pointerleave", {}));
      });
      told.hidden_after = tip.hidden;
      var marks = document.querySelectorAll("[data-tip]");
      told.marks = marks.length; told.wordless = 0;
      marks.forEach(function (mark) { point(mark, 0.5); if (tip.hidden || !tip.textContent) told.wordless++; });
      told.overflow = root.scrollWidth - window.innerWidth;
      told.heading = (document.querySelector("h1") || {}).textContent;
      told.hacked = window.hacked || 0; told.images = document.images.length;
      return told;
    }]]
    local folder, absent

    setup(function()
        folder = server.folder()
        absent = browser.absent(folder)
    end)
    teardown(function() server.remove_folder(folder) end)

    local function is_shown(text, options)
        if absent then
            pending(absent)
            return
        end
        local told = browser.probe(folder, text, PROBE, options)
        assert.same({}, told.troubles)
        assert.equal(options.width, told.width)
        assert.equal(options.is_dark and "dark" or "light", told.theme)
        assert.equal(options.is_dark and "light" or "dark", told.other_theme)
        assert.not_equal(told.ground, told.other_ground)
        assert.is_true(told.plots >= 3)
        assert.same({ 3 * told.plots, told.plots }, { told.tips, told.crosses })
        assert.is_true(told.hidden_after)
        assert.is_nil(told.no_keys)
        assert.equal(text:find("<figcaption>Sizes of items", 1, true) ~= nil, told.marks > 0)
        assert.equal(0, told.wordless)
        assert.is_true(told.overflow <= 0, ("%d pixels too wide"):format(told.overflow))
        assert.same({ 0, 0 }, { told.hacked, told.images })
        return told
    end

    it("has values under the pointer on a wide screen, of a real recording", function()
        local told = is_shown(page.of({ assert(story.of(recordings.load("demo"), {})) }, ABOUT), { width = 1600 })
        assert.truthy(not told or told.first_tip:find("^%d%d:%d%d:%d%d UTC\nhit ratio: [%d.]+ hits of gets, %%"),
            told and told.first_tip)
    end)

    it("fits a small window, whatever servers are called", function()
        local told = is_shown(page.of({ assert(story.of(minute(HOSTILE, HOSTILE), {})) }, ABOUT), { width = 900 })
        assert.equal(told and HOSTILE, told and told.heading)
    end)

    it("fits a telephone, dark where the system is", function()
        local long = assert(story.of(minute(("x"):rep(300)), {}))
        local both = { long, assert(story.of(recordings.load("falls"), {})) }
        is_shown(page.of(both, ABOUT), { width = 400, is_dark = true })
    end)
end)
