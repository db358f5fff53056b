-- SPDX-License-Identifier: BSD-3-Clause
--- Requests the statistics of one server at a steady interval, and makes snapshots of the replies.
--
-- A refresh is one write of all its commands, so it costs one round trip; "stats settings" is sent only now and then,
-- "stats slated" once a connection. Inquiries are sent with every refresh, before it: when the snapshot is complete,
-- their answers are there. No refresh starts while one is under way, so a slow server gets fewer requests.
local changes = require "slate.facts.changes"
local inquiries = require "slate.console.inquiries"
local latency = require "slate.console.latency"
local link = require "slate.console.link"
local proxy = require "slate.facts.proxy"
local snapshot = require "slate.facts.snapshot"

local M = {}

local SETTINGS_EVERY <const>, CURVES_A_REFRESH <const>, PAGES_A_PART <const> = 10, 8, 4096
local PROBE_EVERY_S <const>, OVERDUE_S <const> = 0.1, 0.5
-- The first refreshes of a connection come fast, because a class is judged by three rates.
local QUICK_REFRESHES <const>, QUICK_S <const> = 3, 0.2

local Poller = {}
Poller.__index = Poller
Poller.__name = "slate.console.poller"

--- about: interval_s, model (whose answers it fills), server (its name), take (a function of a complete snapshot, a
-- table of its replies' texts by group, and { sent_s, received_s }).
function M.new(about)
    return setmetatable({ interval_s = about.interval_s, model = about.model, server = about.server, take = about.take,
        next_s = 0, generation = 0, refreshes = 0, wants = { inquiries = {}, unhurried = {}, curves_first = {} },
        probes = latency.new(), probe_s = 0, curve_class = 0 }, Poller)
end

-- A function for the answer to an inquiry.
local function answer(poller, name, class_id)
    return function(text, is_stats)
        poller.model.answers:take(name, text, { at_s = poller.now_s, is_stats = is_stats, class_id = class_id })
        poller.has_news = true
    end
end

local function send_curve(poller, connection, id, now_s)
    connection:send("stats curve " .. id, "stats", now_s, answer(poller, "class_curves", id))
end

-- Requests urgent curves first, then those of the next classes with pages, in turn.
local function send_curves(poller, connection, now_s)
    for _, id in ipairs(poller.wants.curves_first) do
        send_curve(poller, connection, id, now_s)
    end
    local later, earlier = {}, {}
    for _, class in ipairs(poller.model.now.classes) do
        if (class.total_pages or 0) > 0 then
            local list = class.id > poller.curve_class and later or earlier
            list[#list + 1] = class.id
        end
    end
    table.move(earlier, 1, #earlier, #later + 1, later)
    for i = 1, math.min(#later, CURVES_A_REFRESH) do
        send_curve(poller, connection, later[i], now_s)
        poller.curve_class = later[i]
    end
end

-- Requests predictions; their answers are lines.
local function send_predictions(poller, connection, now_s)
    local predictions = poller.model.answers.predictions
    local line, ticket = predictions:next(now_s)
    while line do
        local of = ticket
        connection:send(line, "line", now_s, function(text)
            predictions:take(of, text, poller.now_s)
            poller.has_news = true
        end)
        line, ticket = predictions:next(now_s)
    end
end

local SENDERS <const> = {
    class_curves = send_curves,
    predictions = send_predictions,
    item = function(poller, connection, now_s)
        connection:send("me " .. poller.wants.item_key, "line", now_s, function(text)
            poller.model.answers:take("item", text, { at_s = poller.now_s, is_stats = text:find("^ME ") ~= nil })
            poller.has_news = true
        end)
    end,
    pages = function(poller, connection, now_s)
        local line = ("stats pages %d %d"):format(poller.model.answers.list.next, PAGES_A_PART)
        connection:send(line, "stats", now_s, answer(poller, "pages"))
    end,
}

-- The first answer shows which kind of server this is, so nothing is inquired before.
local function send_inquiries(poller, connection, now_s)
    for _, row in ipairs(poller.has_answered and inquiries.LIST or {}) do
        local is_wanted = poller.wants.inquiries[row.name] or poller.wants.unhurried[row.name]
        if is_wanted and not inquiries.why_not(row.name, poller.model.now) then
            if SENDERS[row.name] then
                SENDERS[row.name](poller, connection, now_s)
            elseif row.command then
                connection:send(row.command, "stats", now_s, answer(poller, row.name))
            end
        end
    end
end

-- The groups of a refresh, in order.
local function groups_of(poller)
    local groups, refreshes = { "", "items", "slabs" }, poller.refreshes
    local settings_due = refreshes >= QUICK_REFRESHES and (refreshes - QUICK_REFRESHES) % SETTINGS_EVERY == 0
    settings_due = settings_due or poller.model.was_changed
    if not poller.has_answered or settings_due or poller.wants.inquiries.settings then
        groups[#groups + 1] = "settings"
    end
    if not poller.has_answered then
        groups[#groups + 1] = "slated"
        return groups
    end
    if settings_due and poller.model.now.slated then
        groups[#groups + 1] = "audit"
    end
    if proxy.is_one(poller.model.now) then
        groups[#groups + 1] = "proxybe"
    end
    return groups
end

-- The server's reason to refuse "stats", in words.
local function refusal_of(text)
    if text:find("^CLIENT_ERROR unauthenticated") then
        return "it wants a login: start with -P FILE, which has user:password in its first line"
    end
    return (require("slate.wire.request").printable(text:match("^[^\r\n]*")))
end

-- The changes that the server has recorded since the last reply; nil without any, and after the first reply.
local function new_changes(poller, reply)
    local last, list = poller.last_change, nil
    if reply then
        list, poller.last_change = changes.of_reply(reply, last or 0)
    end
    return last and list and list[1] and list or nil
end

-- Settings and slated's own figures come only now and then: those of the snapshot before hold.
local function complete(poller, refresh)
    poller.is_waiting = false
    if poller.refusal then
        return
    end
    local before = poller.has_answered and poller.model.now or {}
    local about = { time_s = link.wall_s(), server = poller.server, slated = before.slated }
    local one = snapshot.build(refresh.texts, about)
    one.settings, one.role, one.store = one.settings or before.settings, one.role or before.role,
        one.store or before.store
    one.changes = new_changes(poller, refresh.texts.audit)
    poller.has_answered = true
    poller.take(one, refresh.texts, { sent_s = refresh.sent_s, received_s = refresh.connection.read_s })
end

-- Takes the reply of one group; the last completes the refresh.
local function take_group(poller, refresh, group, text, is_stats)
    local about = { at_s = poller.now_s, is_stats = is_stats }
    if group == "settings" or poller.wants.inquiries.settings or poller.wants.inquiries.class then
        poller.model.answers:take_group(group, text, about)
    end
    refresh.texts[group] = is_stats and text or nil
    if group == "" then
        poller.refusal = not is_stats and refusal_of(text) or nil
    end
    if group == refresh.last then
        complete(poller, refresh)
    end
end

local function send_refresh(poller, connection, now_s)
    send_inquiries(poller, connection, now_s)
    local refresh = { texts = {}, connection = connection }
    for _, group in ipairs(groups_of(poller)) do
        local line = group == "" and "stats" or "stats " .. group
        local is_sent = connection:send(line, "stats", now_s, function(text, is_stats)
            take_group(poller, refresh, group, text, is_stats)
        end)
        refresh.last = is_sent and group or refresh.last
    end
    connection:flush(now_s)
    refresh.sent_s = link.now_s() -- many round trips are shorter than a turn of the loop
    poller.sent_s = refresh.sent_s
    poller.is_waiting, poller.refreshes = refresh.last ~= nil, poller.refreshes + 1
    local is_quick = poller.refreshes <= QUICK_REFRESHES and poller.interval_s > QUICK_S
    -- All servers refresh at the same times, so that one frame shows them all; the first time is half an interval
    -- away at least.
    poller.next_s = is_quick and now_s + QUICK_S or (now_s / poller.interval_s + 1.5) // 1 * poller.interval_s
end

-- With a refresh under way a probe would measure the refresh.
local function may_probe(poller)
    return poller.wants.probes and poller.has_answered and not poller.is_waiting and not poller.has_probe
end

local function send_probe(poller, connection, now_s)
    local sent_s
    poller.has_probe = connection:send("version", "line", now_s, function()
        poller.probes:add((connection.read_s - sent_s) * 1e6)
        poller.has_probe = false
    end)
    sent_s, poller.probe_s = link.now_s(), now_s + PROBE_EVERY_S
    connection:flush(now_s)
end

--- Starts a refresh when one is due and the connection is up. Call this after the connection's step.
function Poller:step(connection, now_s)
    self.now_s = now_s
    if not connection:is_up() then
        self.is_waiting = false
        return
    end
    if self.generation ~= connection.generation then
        self.generation, self.is_waiting, self.has_answered, self.has_probe = connection.generation, false, false, false
        self.refreshes, self.next_s = 0, now_s
        self.model.answers:forget()
    end
    if not self.is_waiting and now_s >= self.next_s then
        send_refresh(self, connection, now_s)
    elseif may_probe(self) and now_s >= self.probe_s then
        send_probe(self, connection, now_s)
    end
end

--- Sets the wants of the screen (README.md). A new inquiry makes a refresh due at once, unless it is unhurried.
function Poller:want(wants, now_s)
    for name in pairs(wants.inquiries) do
        if not self.wants.inquiries[name] then
            self.next_s = now_s
        end
    end
    self.wants = wants
    self.model.answers:focus(wants.class_id)
    self.model.answers.predictions:want(wants.orders)
end

--- Makes the next refresh due at once, settings included: after a change of the server.
function Poller:hurry(now_s)
    self.next_s = now_s
    self.refreshes = self.refreshes > 0 and QUICK_REFRESHES + SETTINGS_EVERY or 0 -- the server's kind stays the same
end

--- True if the samples by which a class is judged have come, or are about to.
function Poller:is_steady()
    return self.refreshes > QUICK_REFRESHES
end

--- True if the server does not answer: its figures become old now (of slate.console.health) for want of a reply.
function Poller:is_overdue(now_s)
    return self.is_waiting and now_s - self.sent_s > self.interval_s + OVERDUE_S
end

--- When to call step next; nil: when a reply comes.
function Poller:due_s(connection)
    if not connection:is_up() or self.is_waiting then
        return nil
    end
    return may_probe(self) and math.min(self.probe_s, self.next_s) or self.next_s
end

return M
