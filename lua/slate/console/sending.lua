-- SPDX-License-Identifier: BSD-3-Clause
--- Changes of the console: from the review to the server, and back. Modules that the first screen does not need are
--- loaded when they are used.
local gather = require "slate.base.gather"
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

local M = {}

local LEAVE_STEP_S <const> = 0.02
local PAST <const> = "this is the past: . returns to live, where it can be changed"

-- Shows news of a session; names the server if others are on the screen, too.
local function show_news(app, session, news, now_s)
    local is_named = session and not app.replay and (session ~= app.open or app:shows_all())
    app:report(is_named and ("%s: %s"):format(session.model.server, news) or news, now_s)
end

--- Drops the new values, and the source of a move, that were chosen for a server.
function M.forget_choices(ui)
    if rawget(ui, "tune") then
        view_list.module("tune").forget(ui)
    end
    if rawget(ui, "classes") then
        ui.classes.source = nil
    end
end

--- Shows another server; each server has its own past. A pause goes on at the same time of day. Choices made for the
--- previous server are forgotten.
function M.choose_server(app, place)
    local session, timeline = app.fleet.sessions[place] or app.open, app.timeline
    if session == app.open then
        return
    end
    local paused_s = timeline:chosen_s()
    app.open = session
    local classes = rawget(app.ui, "classes")
    if classes then
        classes.cursor, classes.top = nil, 1
    end
    M.forget_choices(app.ui)
    timeline:go_live()
    if paused_s then
        timeline:seek(session.tape, paused_s)
    end
end

-- The sessions that keys of changes are for: in Fleet and its events the marked ones, if there are any; else the open
-- one, which there is the one under Fleet's cursor.
local function receivers(app)
    local list = gather.values(app:shows_all() and app.fleet.sessions or {}, function(session, i)
        return app.ui.fleet.marked[i] and session or nil
    end)
    return #list > 0 and list or { app.open }, #list > 0
end

--- Makes a marked server the open one, if any is marked: a review shows its figures. taken: of the review, or nil. True
--- if the next change is for marked servers.
function M.aim(app, taken)
    local _, is_for_marked = receivers(app)
    local first
    for i, session in ipairs(is_for_marked and app.fleet.sessions or {}) do
        if app.ui.fleet.marked[i] and session.model.now and (not taken or taken[session.model]) then
            first = (session == app.open or not first) and i or first
        end
    end
    M.choose_server(app, first)
    return is_for_marked
end

-- Shows how many marked servers took the last change for them, and each that did not, with why: app.sent { servers,
-- waits (the set of sessions whose outcome has not come), waiting (their number), refused (a list of { name, text }),
-- kind and hint }.
local function show_sent(app, now_s)
    local sent = app.sent
    local took = sent.servers - sent.waiting - #sent.refused
    app:report(("%d of %s took the %s%s%s; 8 shows each outcome%s"):format(took,
        units.plural(sent.servers, "marked server"), sent.kind,
        sent.waiting > 0 and (", %d not yet"):format(sent.waiting) or "",
        #sent.refused > 0 and "; " .. require("slate.console.marked").news(sent.refused) or "", sent.hint), now_s)
end

-- Sends the change, or its undo, to each marked server that it changes. When one refuses now, those before it are
-- changed and the others are not.
local function send_to_marked(app, now_s)
    local one, problem = app.ui.review, nil
    local targets, why = require("slate.console.marked").targets(app:frame(now_s), app.ui, one)
    if not targets then
        app:report(why .. ": nothing was sent", now_s)
        return
    end
    local by_model = gather.map(targets, "model")
    one.terms.group = { fleet = true }
    app.sent = { servers = #targets, kind = one.kind, waits = {}, waiting = 0, refused = {},
        hint = one.kind == "undo" and "" or ", u takes it back" }
    for _, session in ipairs(app.fleet.sessions) do
        local target = by_model[session.model]
        if target and problem then
            table.insert(app.sent.refused, { name = session.model.server, text = "not sent" })
        elseif target then
            app.sent.waits[session], problem = session.changes:begin(one.kind, target.changes, one.terms)
            if problem then
                table.insert(app.sent.refused, { name = session.model.server, text = problem })
            else
                app.sent.waiting = app.sent.waiting + 1
            end
        end
    end
    show_sent(app, now_s)
    one.is_open = false
    M.forget_choices(app.ui)
end

--- Sends the reviewed plan, or shows why not.
function M.send(app, now_s)
    local one, locked = app.ui.review, app:locked()
    local why
    if app.options.read_only then
        why = "read-only: nothing was sent"
    elseif locked then
        why = locked .. ", and changes need admin: nothing was sent"
    elseif not app.open or app.replay then
        why = "a recording can't be changed: nothing was sent"
    elseif not one.is_for_marked and require("slate.console.health").why_unreachable(app:frame(now_s)) then
        why = "the server does not answer: nothing was sent"
    elseif one.refusal then
        why = one.refusal .. ": nothing was sent"
    elseif one.is_for_marked then
        send_to_marked(app, now_s)
    else
        local ok, problem = app.open.changes:begin(one.kind, one.plan, one.terms)
        if ok then
            one.is_open = false
            M.forget_choices(app.ui)
        end
        why = not ok and problem or nil
    end
    if why then
        app:report(why, now_s)
    end
end

--- True if what is shown can be changed; else the screen says why not.
function M.is_live(app, now_s)
    if app.replay or app:is_past() then
        app:report(app.replay and "a recording can't be changed" or PAST, now_s)
        return false
    end
    return true
end

--- Opens the review of a plan of a view; or says why it cannot be.
function M.review(app, plan, now_s)
    if not M.is_live(app, now_s) then
        return
    end
    local is_for_marked = M.aim(app)
    if is_for_marked and not require("slate.console.marked").takes(plan) then
        app:report("pages and the policy of a class are changed on one server: Enter opens it", now_s)
        return
    end
    require("slate.console.review").open(app.ui, plan, "change", nil, is_for_marked)
end

-- The proposal of the last change to any of the sessions, and the changes of all that got it, by model; nil and why
-- without one.
local function last_of(sessions, kind)
    local proposed, last, why, by_model = {}, nil, nil, {}
    for i, session in ipairs(sessions) do
        proposed[i], why = session.changes:propose(kind)
        if proposed[i] and not (last and (last.id or 0) >= (proposed[i].id or 0)) then
            last = proposed[i]
        end
    end
    for i, session in ipairs(sessions) do
        local one = proposed[i]
        if one and (one == last or one.group and one.group == last.group) then
            by_model[session.model] = one.changes
        end
    end
    return last, last and by_model or why
end

--- Opens the review of the plan that takes the last change back (kind "undo"), or makes it again ("redo"): in Fleet on
--- all marked servers that got it.
function M.propose(app, kind, now_s)
    local sessions, is_for_marked = receivers(app)
    local taken, why = last_of(sessions, kind)
    if not taken then
        show_news(app, sessions[#sessions], why or "no server is watched", now_s)
    else
        M.aim(app, why)
        require("slate.console.review").open(app.ui, taken.changes, kind, taken.title, is_for_marked)
        app.ui.review.taken = is_for_marked and why or nil
    end
end

--- Ends the trial, in Fleet those of all marked servers; its change stays.
function M.accept_trial(app, now_s)
    local has_trial = false
    for _, session in ipairs(app.open and receivers(app) or {}) do
        has_trial = session.changes and session.changes:accept_trial() or has_trial
    end
    if not has_trial then
        show_news(app, app.open, "no trial is under way", now_s)
    end
end

--- Shows the outcomes of changes.
function M.show_outcomes(app, now_s)
    local sent, list, is_of_sent = app.sent, {}, false
    for _, session in ipairs(app.fleet.sessions) do
        local news, has_failed = session.changes:take_news()
        local of_sent = news and sent and sent.waits[session]
        if of_sent then
            sent.waits[session], sent.waiting, is_of_sent = nil, sent.waiting - 1, true
        end
        if news and (has_failed or not of_sent) then
            table.insert(of_sent and sent.refused or list, { name = session.model.server, text = news, of = session })
        end
    end
    if is_of_sent then
        show_sent(app, now_s)
    elseif #list == 1 then
        show_news(app, list[1].of, list[1].text, now_s)
    elseif #list > 1 then
        app:report(require("slate.console.marked").news(list), now_s)
    end
    local words = app.open and app.open.changes and app.open.changes:words() or ""
    if words ~= app.under_way then
        app.under_way, app.is_dirty = words, true
    end
end

--- Undoes trials before the console ends, which may take ten seconds, and prints what cannot be undone, and how to
--- finish by hand. Call it with the terminal closed.
function M.leave(app)
    local link = app.core.link
    local function print(session, text)
        app.core.files.write_error(("slatetop: %s: %s\n"):format(session.model.server, text))
    end
    local now_s = link.now_s()
    local until_s = now_s + require("slate.console.changes").LEAVE_S
    for _, session in ipairs(app.fleet.sessions) do
        local changes = session.changes
        local had_trial = changes:has_trial()
        if had_trial then
            print(session, "a trial is on and goes back now")
        end
        while changes:leave() and now_s < until_s do
            local polled = {}
            session:polled(polled)
            now_s = link.wait(polled, now_s + LEAVE_STEP_S, true)
            session:read(now_s)
            session:step(now_s)
            session:finish(now_s, link.wall_s())
        end
        for line in changes:leftovers():gmatch("[^\n]+") do
            print(session, line)
        end
        if had_trial and not changes:has_trial() then
            print(session, changes:take_news() or "the trial went back")
        end
    end
end

return M
