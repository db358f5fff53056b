-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's side of changes without a terminal: a server and a console in conversation, with a clock that the claims
-- own. Require this before all modules that read the clock.
local M = {}

local now_s = 1000
package.loaded["slate.base.clock"] = {
    steady_s = function() return now_s end, time_s = function() return now_s end, sleep = coroutine.yield,
}
local acting = require "slate.act.acting"
local gather = require "slate.base.gather"
local dkjson = require "dkjson"
local view = require "slate.judge.view"
local snapshots = require "support.snapshots"

M.NO_TRIAL = { minutes = 0, evictions_pct = 20, hit_points = 1 }
M.STOCK, M.SLATED = { version = "1.6.45" }, { version = "1.6.45", slated = "0.1.0" }

--- The time of day, after `seconds` more (nil: none).
function M.pass(seconds)
    now_s = now_s + (seconds or 0)
    return now_s
end

-- A server that records the commands it receives, by command.
local Server = {}
Server.__index = Server

--- A server with these settings, on top of its own.
function M.server(settings)
    local all = { slab_automove = "0", slab_reassign = "yes", hot_lru_pct = "20", warm_lru_pct = "40",
        hot_max_factor = "0.20", warm_max_factor = "2.00", verbosity = "0", maxbytes = "67108864", temp_lru = "no",
        temporary_ttl = "61", lru_crawler_sleep = "100" }
    for name, value in pairs(settings or {}) do all[name] = value end
    return setmetatable({ settings = all, pages = { [4] = 64, [12] = 1 }, slabs_moved = 0, log = {} }, Server)
end

local function stats_of(values, prefix)
    local lines = {}
    for name, value in pairs(values) do
        lines[#lines + 1] = ("STAT %s%s%s\r\n"):format(name, prefix or "", " " .. value)
    end
    return table.concat(lines) .. "END\r\n"
end

function Server:move(src, dst, count)
    self.pages[src], self.pages[dst] = self.pages[src] - count, self.pages[dst] + count
    self.slabs_moved, self.lost = self.slabs_moved + count, (self.lost or 0) + 400 * count
end

function Server:answer(line)
    self.log[#self.log + 1] = line
    local change = line:match("^slabs reassign (.*)$") or line:match("^lru tune (.*)$")
    if line == self.refuses then
        return "ERROR\r\n"
    elseif self.says and (change or not line:find("^stats")) then
        return self.says
    elseif line == "stats" then
        return stats_of({ pid = self.pid or 1, uptime = now_s // 1, slabs_moved = self.slabs_moved,
            slab_reassign_running = 0, limit_maxbytes = self.settings.maxbytes, total_items = 1 })
    elseif line == "stats moves" and self.lost_from then -- a slated
        return stats_of({ evicted = self.lost_from + (self.lost or 0) })
    elseif line == "stats slabs" then
        return stats_of(self.pages, ":total_pages")
    elseif line == "stats settings" then
        return stats_of(self.settings)
    elseif line:find("^slabs reassign") then
        local src, dst, count = line:match("(%d+) (%d+) ?(%d*)$")
        self:move(tonumber(src), tonumber(dst), tonumber(count) or 1)
        return "OK\r\n"
    elseif line:find("^lru tune") then
        local s = self.settings
        s.hot_lru_pct, s.warm_lru_pct, s.hot_max_factor, s.warm_max_factor = change:match(
            "(%S+) (%S+) (%S+) (%S+)")
        return "OK\r\n"
    elseif line:find("^slabs automove") then
        self.settings.slab_automove = self.keeps and self.settings.slab_automove or self.sets or line:match("%S+$")
        return "OK\r\n"
    elseif line:find("^lru temp_ttl") then
        local seconds = line:match("%S+$")
        self.settings.temp_lru = seconds == "-1" and "no" or "yes"
        self.settings.temporary_ttl = seconds == "-1" and self.settings.temporary_ttl or seconds
        return "OK\r\n"
    end
    return line:find("^stats items") and "END\r\n" or "ERROR\r\n"
end

function Server:sent()
    local list = gather.values(self.log, function(line) return not line:find("^stats") and line or nil end)
    return table.concat(list, "; ")
end

--- A console of this server; its record of changes is the string console.text.
function M.console(server, who)
    local one = view.observer()
    local console = { server = server, observer = one, text = "", is_up = true, who = who or M.STOCK, gets = 0,
        hits = 0, evictions = 0, dropped = 0, refused = 0 }
    console.acting = acting.new({ server = "here", observer = one, record = { who = "me",
        read = function() return console.text end,
        append = function(compose)
            console.text = console.text .. compose(console.text)
            return true
        end } })
    -- A second passes, with so many gets, hits, evictions, items that moves drop, stores refused, and pages of class
    -- 12.
    function console.second(gets, hits, evictions, dropped, refused, pages)
        now_s = now_s + 1
        console.gets, console.hits = console.gets + (gets or 1000), console.hits + (hits or 900)
        console.evictions = console.evictions + (evictions or 100)
        console.dropped, console.refused = console.dropped + (dropped or 0), console.refused + (refused or 0)
        one:observe(snapshots.make(now_s, { [4] = snapshots.class({ total_pages = 64 }),
            [12] = snapshots.class({ total_pages = pages or 1 }) }, { cmd_get = console.gets, get_hits = console.hits,
            pid = server.pid or 1, time = now_s // 1, evictions = console.evictions,
            get_misses = console.gets - console.hits, slab_reassign_busy_deletes = console.dropped,
            store_no_memory = console.refused, cmd_flush = console.flushes or 0 },
            console.settings or { slab_reassign = true }))
        console.run()
    end
    -- Goes on until nothing is due for a while; returns the last message.
    function console.run(limit_s)
        local until_s = now_s + (limit_s or 0)
        for _ = 1, 100000 do
            local line = console.acting:step(console.is_up)
            local due_s = console.acting:due_s()
            if line then
                console.acting:reply(server:answer(line))
            elseif due_s and due_s > now_s and due_s <= until_s then
                now_s = due_s
            elseif not due_s or due_s > now_s then
                break
            end
        end
        return console.acting.news
    end
    function console.begin(changes, terms, kind)
        local ok, why = console.acting:begin(kind or "change", changes, console.who, console.is_up,
            terms or M.NO_TRIAL)
        return ok and console.run(20) or why
    end
    function console.undo()
        local proposed, why = console.acting:propose_undo()
        return proposed and console.begin({}, nil, "undo") or why, proposed
    end
    console.second()
    return console
end

local SETTLED <const> = { "is", "pages", "src_pages", "dst_pages", "items_lost", "generation" }

--- The entries on record of a console, of changes that were made or whose outcome is unknown, and the outcomes.
function M.entries(console)
    local list = {}
    for line in console.text:gmatch("[^\n]+") do
        local one, place = dkjson.decode(line), nil
        for i, entry in ipairs(one.what == "settled" and list or {}) do
            place = entry.id == one.of and i or place
        end
        if not place then
            list[#list + 1] = one
        elseif not one.made then
            table.remove(list, place)
        else
            list[place].unknown = nil
            for _, name in ipairs(SETTLED) do list[place][name] = one[name] end
        end
    end
    return list
end

return M
