-- SPDX-License-Identifier: BSD-3-Clause
--- Changes of the console: from the review to the server, and back. Modules that the first screen does not need are
--- loaded when they are used.
local units = require "slate.base.units"
local view_list = require "slate.console.view_list"

local M = {}

local LEAVE_STEP_S <const> = 0.02
local PAST <const> = "this is the past: . returns to live, where it can be changed"

-- Shows news of a session; names the server if others are on the screen, too.
local function show_news(app, session, news, now_s)
    local is_named = session and not app.replay and (session ~= app.open or app:shows_fleet())
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

-- Sends the change to each marked server that has other values. When one refuses now, those before it are changed and
-- the others are not.
local function send_to_marked(app, now_s)
    local marked = require "slate.console.marked"
    local one, sent = app.ui.review, 0
    local changed, why = marked.check(app:frame(now_s), app.ui, one.plan)
    if not changed then
        app:report(why, now_s) -- nothing has been sent
        return
    end
    for i, session in ipairs(app.fleet.sessions) do
        if app.ui.fleet.marked[i] and marked.answer(session.model, one.plan) ~= "has" then
            local ok, problem = session.changes:begin("change", one.plan, one.terms)
            if not ok then
                app:report(("sent to %d of %d marked servers; %s: %s"):format(sent, changed, session.model.server,
                    problem), now_s)
                break
            end
            sent = sent + 1
        end
    end
    if sent == changed then
        app:report(("sent to %s: Events (8) of each shows the outcome"):format(units.plural(sent, "marked server")),
            now_s)
    end
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
    elseif not one.is_seen then
        why = "this screen has no room for all that would be sent: nothing was sent"
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

--- Opens the review of a plan of a view; or says why it cannot be.
function M.review(app, plan, now_s)
    if app.timeline.is_past then
        app:report(app.replay and "a recording can't be changed" or PAST, now_s)
        return
    end
    local marked = require "slate.console.marked"
    local is_for_marked = app:shows_fleet() and marked.count(app.ui) > 0 and marked.takes(plan)
    require("slate.console.review").open(app.ui, plan, "change", nil, is_for_marked)
end

--- Opens the review of the plan that takes the last change back (kind "undo"), or makes it again ("redo").
function M.propose(app, kind, now_s)
    local session = app.open
    local taken, why
    if session and not app.replay then
        taken, why = session.changes:propose(kind)
    end
    if not taken and not why then
        app:report(kind == "undo" and "a recording can't be changed"
            or "no change was undone from here that could be made again", now_s)
    elseif not taken then
        show_news(app, session, why, now_s)
    elseif app.timeline.is_past then
        app:report(PAST, now_s)
    else
        require("slate.console.review").open(app.ui, taken.changes, kind, taken.title)
    end
end

--- Ends the trial; its change stays.
function M.accept_trial(app, now_s)
    if not (app.open and app.open.changes:accept_trial()) then
        show_news(app, app.open, "no trial is under way", now_s)
    end
end

--- Shows the outcomes of changes.
function M.show_outcomes(app, now_s)
    for _, session in ipairs(app.fleet.sessions) do
        local news = session.changes:take_news()
        if news then
            show_news(app, session, news, now_s)
        end
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
