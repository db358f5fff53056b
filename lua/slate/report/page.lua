-- SPDX-License-Identifier: BSD-3-Clause
--- A report as one page of HTML: the stories of one or more servers (slate.report.story). Pure.
local gather = require "slate.base.gather"
local html = require "slate.chart.html"
local history = require "slate.judge.history"
local panels = require "slate.chart.html_panels"
local record = require "slate.facts.record"
local settings = require "slate.facts.settings"
local units = require "slate.base.units"

local M = {}

local MOST_SAMPLES <const> = 600 -- snapshots in a chart: finer steps would be invisible
local MOST_CHANGES <const> = 200
-- In the order of a reader's questions: the result, the place of the memory, the classes and sizes that lose.
local CHARTS <const> = { "hits", "pages", "sizes", "curve" }

local escape <const> = html.escape

local function add(parts, format, ...)
    parts[#parts + 1] = format:format(...)
end

local function utc(time_s, form)
    return os.date(form or "!%H:%M:%S", math.floor(time_s))
end

local function span_of(from_s, to_s)
    local same_day = utc(from_s, "!%Y-%m-%d") == utc(to_s, "!%Y-%m-%d")
    return utc(from_s, "!%Y-%m-%d %H:%M:%S"), utc(to_s, same_day and "!%H:%M:%S" or "!%Y-%m-%d %H:%M:%S") .. " UTC"
end

-- Every nth snapshot of a long list, and the last: counters go on, so the events between are not lost.
local function thinned(list)
    local step, few = math.ceil(#list / MOST_SAMPLES), {}
    for i = 1, #list, step do
        few[#few + 1] = list[i]
    end
    if few[#few] ~= list[#list] then
        few[#few + 1] = list[#list]
    end
    return few
end

local function add_tile(parts, name, value, more)
    add(parts, "<div><span>%s</span><b>%s</b>%s</div>\n", escape(name), escape(value),
        more and "<span>" .. escape(more) .. "</span>" or "")
end

-- "71.2% at first, 93.4% at last"; nil if one is unknown or both read the same.
local function ends(first, last, form)
    if not (first and last) or form(first) == form(last) then
        return nil
    end
    return ("%s at first, %s at last"):format(form(first), form(last))
end

local function percent(value)
    return units.percent(value, 1)
end

local function add_tiles(parts, story)
    local f = story.figures
    parts[#parts + 1] = '<div class="tiles">\n'
    add_tile(parts, "Hits of gets", percent(f.whole.hit_ratio), ends(f.first.hit_ratio, f.last.hit_ratio, percent))
    add_tile(parts, "Evictions a second", units.rate(f.whole.evictions_per_s),
        ends(f.first.evictions_per_s, f.last.evictions_per_s, units.rate))
    if (f.whole.refused_per_s or 0) > 0 then
        add_tile(parts, "Stores refused a second", units.rate(f.whole.refused_per_s))
    end
    add_tile(parts, "Gets a second", units.rate(f.whole.gets_per_s),
        ends(f.first.gets_per_s, f.last.gets_per_s, units.rate))
    add_tile(parts, "Sets a second", units.rate(f.whole.sets_per_s),
        ends(f.first.sets_per_s, f.last.sets_per_s, units.rate))
    add_tile(parts, "Items", units.count(f.items))
    add_tile(parts, "Bytes of items", units.bytes_in_words(f.used_bytes),
        f.limit_bytes and "of " .. units.bytes_in_words(f.limit_bytes))
    add_tile(parts, "Automove", story.automove and tostring(story.automove) or "unknown")
    add_tile(parts, "Connections", units.count(f.connections))
    add_tile(parts, "Up", units.age(f.uptime_s))
    parts[#parts + 1] = "</div>\n"
end

local function add_findings(parts, story)
    if #story.findings == 0 then
        return
    end
    parts[#parts + 1] = "<h2>Findings</h2>\n<ul class=\"findings\">\n"
    for _, one in ipairs(story.findings) do
        add(parts, '<li class="%s"><b class="%s">%s</b> <span class="when">%s %s</span><br>%s', escape(one.severity),
            escape(one.severity), escape(one.severity), escape(utc(one.from_s)), escape(one.lasts and "to the end"
            or one.to_s > one.from_s and "to " .. utc(one.to_s) or ""), escape(one.what))
        local about = history.about(one)
        if about ~= "" then
            add(parts, "<br>%s", escape(about))
        end
        if one.todo then
            add(parts, '<br><span class="faint">%s</span>', (escape(one.todo):gsub(
                "%f[%w]slatectl [%w%-=,./: _<>%[%]]*[%w%]/]", "<code>%0</code>"))) -- sets commands apart
        end
        parts[#parts + 1] = "</li>\n"
    end
    parts[#parts + 1] = "</ul>\n"
end

local function add_changes(parts, story)
    parts[#parts + 1] = "<h2>Changes and their outcomes</h2>\n"
    if #story.changes == 0 then
        parts[#parts + 1] = "<p>No change is on record for this time, and none was seen.</p>\n"
        return
    end
    parts[#parts + 1] = '<ol class="changes">\n'
    for i, one in ipairs(story.changes) do
        if i > MOST_CHANGES then
            add(parts, "<li>%s: slatectl audit</li>\n", units.plural(#story.changes - MOST_CHANGES, "later change"))
            break
        end
        add(parts, '<li><b>%d</b> <span class="when">%s%s</span><br>%s', i, escape(utc(one.time_s)),
            escape(one.who and " by " .. one.who or one.seen and not one.is_of_start
            and " seen in the recording, author unknown" or ""),
            escape(one.what))
        if one.undoes then
            add(parts, " <span class=\"faint\">(takes back change %d)</span>", one.undoes)
        end
        if one.outcome then
            add(parts, "<br>→ %s", escape(one.outcome))
        end
        parts[#parts + 1] = "</li>\n"
    end
    parts[#parts + 1] = "</ol>\n"
end

local function share_cell(parts, share, colour, most)
    if not share then
        parts[#parts + 1] = '<td class="share faint">-</td>'
        return
    end
    add(parts, '<td class="share"><i class="c%d" style="width:%.1f%%"></i>%s</td>', colour,
        most > 0 and 60 * share / most or 0, escape(share > 0 and share < 0.0005 and "<0.1%" or percent(share)))
end

local function add_classes(parts, story)
    if #story.classes == 0 then
        return
    end
    local most = 0
    for _, class in ipairs(story.classes) do
        most = math.max(most, class.page_share or 0, class.eviction_share or 0)
    end
    parts[#parts + 1] = "<h2>Classes: shares of the pages and of the evictions</h2>\n<div class=\"wide\"><table>\n"
        .. "<tr><th>Class</th><th>Chunk</th><th>Pages</th><th class=\"left narrow\">Share of pages</th>"
        .. '<th class="left narrow">Share of evictions</th><th>Evictions/s</th><th>Hits/s</th><th>Items</th>'
        .. '<th title="how long an item stays before it is evicted">Life</th><th class="left">State</th></tr>\n'
    for _, class in ipairs(story.classes) do
        local moved = (class.pages or 0) - class.pages_before
        add(parts, "<tr><td>%d</td><td>%s</td><td>%s</td>", class.id, escape(units.chunk(class.chunk_bytes)),
            escape(moved == 0 and ("%d"):format(class.pages or 0) or ("%d → %d"):format(class.pages_before,
                class.pages or 0)))
        share_cell(parts, class.page_share, 1, most)
        share_cell(parts, class.eviction_share, 4, most)
        add(parts, '<td>%s</td><td>%s</td><td>%s</td><td>%s</td><td class="left state%s">%s</td></tr>\n',
            escape(units.rate(class.evicted_per_s)), escape(units.rate(class.hits_per_s)),
            escape(units.count(class.items)), escape(units.age(class.life_s)),
            class.state == "starving" and " bad" or "", escape(class.note ~= "" and class.note or class.state))
    end
    parts[#parts + 1] = "</table></div>\n"
end

-- Marks the changes as lines in the charts over time, with their numbers in the list.
local function mark(figure, changes)
    for _, panel in ipairs(figure.panels) do
        if panel.x.start_s and panel.marks then
            panel.marks = {}
            for i, one in ipairs(changes) do
                panel.marks[#panel.marks + 1] = i <= MOST_CHANGES and { label = tostring(i),
                    x = (one.time_s - panel.x.start_s) / panel.x.unit_s } or nil
            end
        end
    end
end

local function add_charts(parts, story, histogram)
    local list, drawn, left_out = thinned(story.span), {}, {}
    for _, kind in ipairs(CHARTS) do
        local figure, why = require("slate.chart.kinds." .. kind).figure(list, kind == "sizes" and histogram or nil)
        if figure then
            figure.title = figure.title:gsub(", [^,]*, [^,]*$", "") -- the page names the server
            mark(figure, story.changes)
            drawn[#drawn + 1] = panels.figure(figure)
        else
            left_out[#left_out + 1] = kind .. ": " .. why
        end
    end
    parts[#parts + 1] = "<h2>Charts</h2>\n"
    if #list < #story.span then
        add(parts, '<p class="faint">%d of %d snapshots are drawn; counts cover the snapshots between.</p>\n',
            #list, #story.span)
    end
    if #story.changes > 0 then
        parts[#parts + 1] = '<p class="faint">Broken lines with a number: the changes above.</p>\n'
    end
    add(parts, '<div class="charts">\n%s</div>\n', table.concat(drawn))
    if #left_out > 0 then
        add(parts, '<p class="faint">Not drawn: %s.</p>\n', escape(table.concat(left_out, "; ")))
    end
end

local function add_settings(parts, story)
    local names = gather.keys(story.settings)
    if #names == 0 then
        return
    end
    add(parts, "<details><summary>%s at the end</summary>\n<div class=\"wide\"><table>\n",
        escape(units.plural(#names, "setting")))
    for _, name in ipairs(names) do
        add(parts, '<tr><td class="name">%s</td><td class="text">%s</td></tr>\n', escape(name),
            escape(settings.named(name, story.settings[name])))
    end
    parts[#parts + 1] = "</table></div></details>\n"
end

local RANK <const> = { critical = 3, warning = 2, good = 1 }

-- The stories, the worst first; of equal ones, the server with most evictions.
local function worst_first(stories)
    local sorted = table.move(stories, 1, #stories, 1, {})
    table.sort(sorted, function(a, b)
        local x, y = RANK[a.verdict.severity], RANK[b.verdict.severity]
        local m, n = a.figures.whole.evictions_per_s or 0, b.figures.whole.evictions_per_s or 0
        if x ~= y then
            return x > y
        elseif m ~= n then
            return m > n
        end
        return a.server < b.server
    end)
    return sorted
end

local function add_fleet(parts, stories, figure)
    add(parts, "<h2>%s, the worst first</h2>\n<div class=\"wide\"><table>\n",
        escape(units.plural(#stories, "server")))
    parts[#parts + 1] = '<tr><th class="left">Server</th><th>Hits</th><th>Gets/s</th><th>Sets/s</th>'
        .. "<th>Evictions/s</th><th>Items</th><th>Bytes</th><th>Limit</th><th class=\"left\">What is wrong</th></tr>\n"
    for i, story in ipairs(stories) do
        local f = story.figures
        add(parts, '<tr><td class="name"><a href="#server%d">%s</a></td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>'
            .. '<td>%s</td><td>%s</td><td>%s</td><td class="text%s">%s</td></tr>\n', i, escape(story.server),
            escape(percent(f.whole.hit_ratio)), escape(units.rate(f.whole.gets_per_s)),
            escape(units.rate(f.whole.sets_per_s)), escape(units.rate(f.whole.evictions_per_s)),
            escape(units.count(f.items)), escape(units.bytes_in_words(f.used_bytes)),
            escape(units.bytes_in_words(f.limit_bytes)),
            story.verdict.severity == "critical" and " bad"
                or story.verdict.severity == "warning" and " warn" or "",
            escape(story.verdict.text))
    end
    parts[#parts + 1] = "</table></div>\n"
    if figure then
        add(parts, "<h2>Hits of all</h2>\n%s", panels.figure(figure))
    end
end

local function add_server(parts, story, is_one_of_many, i, histogram)
    add(parts, '<section class="server" id="server%d">\n', i)
    if is_one_of_many then
        add(parts, '<h2>%s</h2>\n<p class="faint">%s</p>\n', escape(story.server), escape(story.kind))
    end
    add(parts, '<p class="verdict %s">%s</p>\n', escape(story.verdict.severity), escape(story.verdict.text))
    add_tiles(parts, story)
    add_findings(parts, story)
    add_changes(parts, story)
    add_classes(parts, story)
    add_charts(parts, story, histogram)
    add_settings(parts, story)
    parts[#parts + 1] = "</section>\n"
end

local function all_snapshots(stories)
    local all = {}
    for _, story in ipairs(stories) do
        table.move(story.span, 1, #story.span, #all + 1, all)
    end
    record.sort(all)
    return all
end

--- The page. about: { title (nil: made of the servers), source (words: where the snapshots are from), made_s (when),
-- version (of slatectl), histograms = { [server] = of slate.facts.sizehist }, absent = list of { server, why } }.
function M.of(stories, about)
    local from_s, to_s, samples = math.huge, -math.huge, 0
    for _, story in ipairs(stories) do
        from_s, to_s = math.min(from_s, story.from_s), math.max(to_s, story.to_s)
        samples = samples + #story.span
    end
    stories = worst_first(stories)
    local title = about.title or (#stories == 1 and stories[1].server or units.plural(#stories, "server"))
    local from, to = span_of(from_s, to_s)
    local parts = {}
    add(parts, '<header><div><h1>%s</h1>\n<p class="faint">%s%s to %s (%s), %s, %s</p></div>\n%s</header>\n',
        escape(title), #stories == 1
            and escape((about.title and stories[1].server .. ", " or "") .. stories[1].kind)
        .. "; " or "", from, to, escape(units.age(to_s - from_s)), escape(units.plural(samples, "snapshot")),
        escape(about.source), html.TOGGLE)
    for _, one in ipairs(about.absent or {}) do
        add(parts, '<p class="verdict critical">%s: %s</p>\n', escape(one.server), escape(one.why))
    end
    if #stories > 1 then
        add_fleet(parts, stories, (require("slate.chart.kinds.fleet").figure(thinned(all_snapshots(stories)))))
    end
    for i, story in ipairs(stories) do
        add_server(parts, story, #stories > 1, i, (about.histograms or {})[story.server])
    end
    add(parts, '<p class="faint">Made by slatectl %s on %s UTC.</p>\n', escape(about.version or "?"),
        utc(about.made_s, "!%Y-%m-%d %H:%M:%S"))
    return html.document(title, table.concat(parts))
end

return M
