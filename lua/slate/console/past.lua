-- SPDX-License-Identifier: BSD-3-Clause
--- The actions of the console about time: pause, the cursor in the past, the mark, and recordings.
local sending = require "slate.console.sending"
local timeline = require "slate.console.timeline"
local view_list = require "slate.console.view_list"

local M = {}

local CONFIRM_S <const> = 8 -- so long the same key confirms a recording
local NAME_BYTES <const> = 100 -- of a server's address, in the name of a recording

-- Remembers the moment on the screen, for the diff.
local function mark_moment(app, now_s)
    local frame = app:frame(now_s)
    if not frame.model.now then
        app:report("there are no figures to mark yet", now_s)
        return
    end
    app.mark = { wall_s = frame.moment_s, server = frame.model.server, snapshot = frame.model.now }
    app:report("marked: d shows what changes from here on", now_s)
end

local function new_path(app, session)
    local folder = app.core.files.environment "PWD"
    local name = ("slatetop-%s-%s.jsonl"):format(session.address:sub(1, NAME_BYTES),
        os.date("%Y%m%d-%H%M%S", app.wall_s // 1)):gsub("[/:%[%]]", "-")
    return (folder and folder:gsub("/?$", "/", 1) or "") .. name
end

-- Starts or ends a recording. A recording may fill a disk, so its start needs the same key once more while the question
-- is on the screen, which names it: "slatetop-cache7-11211-20261121-140231.jsonl", in the folder of slatetop's start.
local function toggle_recording(app, now_s)
    local session = app.open
    if not session or app.replay then
        app:report("there is no server to record", now_s)
        return
    elseif not session.record and now_s >= (app.record_until_s or 0) then
        app.record_until_s, app.record_path = now_s + CONFIRM_S, new_path(app, session)
        app:report(("record to %s, at most some 4 MB an hour? R again: yes"):format(app.record_path), now_s)
        return
    end
    app.record_until_s = nil
    local text
    if session.record then
        session:record_end()
        text = "recording ended: " .. session.record_name
    else
        local ok, problem = session:record_to(app.record_path)
        text = ok and ("recording to %s; R ends it"):format(app.record_path) or problem
    end
    session.model:note("record", app.wall_s, text)
    app:report(text, now_s)
end

--- Goes back to where Enter opened a server or an event, and to the moment that was shown there.
function M.go_back(app)
    local back = view_list.go_back(app.ui)
    if back and back.wall_s then
        app.timeline:seek(app.open.tape, back.wall_s)
    elseif back and back.wall_s == false then
        app.timeline:go_live()
    end
end

local function toggle_pause(app, now_s)
    local line = app.timeline
    if app.replay then
        line.plays, line.due_s = not line.plays, now_s
    elseif line.is_past then
        line:go_live()
    else
        line:hold(app.open.tape)
    end
end

local function step_by(samples)
    return function(app) app.timeline:step(app.open.tape, samples) end
end

local function seek_by(seconds)
    return function(app)
        app.timeline:hold(app.open.tape)
        app.timeline:seek(app.open.tape, app.timeline.wall_s + seconds)
    end
end

-- Goes to the next stop. In the events of all servers its server becomes the open one, as with Enter.
local function to_event(direction)
    return function(app, now_s)
        local line, from_s, stop_s, place = app.timeline, (app.timeline:chosen_s() or app.wall_s) // 1, nil, nil
        local is_of_all, view, name = app:shows_all(), view_list.current(app.ui)
        for i, session in ipairs(is_of_all and app.fleet.sessions or { app.open }) do
            local one_s = timeline.stop(session.tape, session.model.events, from_s, direction,
                name == "events" and function(event)
                    return view.passes(app.ui, event, is_of_all and session.address or "")
                end)
            if one_s and not (stop_s and one_s * direction >= stop_s * direction) then
                stop_s, place = one_s, i
            end
        end
        if not stop_s then
            if app.open then
                line:hold(app.open.tape)
            end
            app:report("there is no event there", now_s)
            return
        elseif is_of_all then
            sending.choose_server(app, place)
            app.ui.fleet.cursor, app.ui.events.event = place, nil
        end
        line:seek_event(app.open.tape, stop_s)
    end
end

local function seek_to(wall_s)
    return function(app) app.timeline:seek(app.open.tape, wall_s) end
end

-- Commands that need a past.
local OF_TIME <const> = {
    pause = toggle_pause, time_back = step_by(-1), time_on = step_by(1), minute_back = seek_by(-60),
    minute_on = seek_by(60),
    first_sample = seek_to(-math.huge), last_sample = seek_to(math.huge),
    live = function(app)
        if app.replay then
            app.timeline:seek(app.open.tape, math.huge)
        else
            app.timeline:go_live()
        end
    end,
}
local OTHERS <const> = { mark_moment = mark_moment, record = toggle_recording, event_before = to_event(-1),
    event_after = to_event(1) }

--- Obeys a command about time, marks or recordings; false for any other command.
function M.command(app, command, now_s)
    local act = OTHERS[command] or OF_TIME[command]
    if act and OF_TIME[command] and not (app.open and app.open.tape.newest) then
        app:report("there is no past yet", now_s)
    elseif act then
        act(app, now_s)
    end
    return act ~= nil
end

--- Goes to --at once the recording is loaded; before, its samples are not all known.
function M.seek_once_loaded(app)
    if app.seeks and app.replay:loaded_ratio() == 1 then
        app.timeline:seek_from_start(app.replay.tape, app.options.at_s)
        app.seeks, app.is_dirty = false, true
    end
end

return M
