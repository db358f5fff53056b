-- SPDX-License-Identifier: BSD-3-Clause
--- Several conversations at once on one thread: tasks are coroutines that yield whenever they would wait.
--
--     local together = require "slate.wire.together"
--     together.run({ function() one:stats("") end, function() other:stats("") end })
--
-- slate.wire.transport and slate.base.clock wait through this module, so any function that waits through them can be a
-- task. A call that blocks the thread, such as the look-up of a name, delays all tasks.
local clock_s -- of slate.base.clock, which needs this module

local M = {}

local AT_ONCE <const> = 500 -- tasks; select knows descriptors below 1024 only, so a higher limit of files does not help
local NESTED_MOST <const> = 300 -- tasks that other tasks start, in all; their connections come on top of AT_ONCE
local FILES_RESERVED <const> = 32 -- descriptors that are no connection of a task
local SLICE_S <const> = 0.1 -- Ctrl-C takes effect only between two calls

local running = {} -- tasks by their coroutines
local spawned = {} -- tasks that other tasks have begun; the batch takes them in at its next turn
local nested, queue = 0, { first = 1, last = 0 } -- nested tasks: the number running, and those that wait for room

local files -- the limit of open files, read once

-- How many of `tasks` may run: all, if the limit of open files allows it; else their share of that limit.
local function room_for(tasks)
    if not files then
        local limits <close> = io.open("/proc/self/limits")
        files = tonumber(limits and limits:read("a"):match("Max open files +(%d+)")) or math.huge
    end
    local share = (files - FILES_RESERVED) * tasks // (AT_ONCE + NESTED_MOST)
    return math.max(1, math.min(tasks, share))
end

local function now_s()
    clock_s = clock_s or require("slate.base.clock").steady_s
    return clock_s()
end

--- True if the caller is a task.
function M.is_task()
    return running[coroutine.running()] ~= nil
end

--- luasocket's select, except that other tasks run while a task waits.
function M.select(readers, writers, timeout_s)
    if M.is_task() then
        return coroutine.yield(readers, writers, timeout_s)
    end
    return require("socket.core").select(readers, writers, timeout_s)
end

local function gather(waiting, from, field, to)
    for _, socket in ipairs(waiting[field] or {}) do
        to[#to + 1] = socket
        from[socket] = waiting
    end
end

-- Waits until some tasks may go on, and marks them.
local function await(tasks)
    local readers, writers, reader_of, writer_of, until_s = {}, {}, {}, {}, now_s() + SLICE_S
    for _, task in ipairs(tasks) do
        gather(task, reader_of, "readers", readers)
        gather(task, writer_of, "writers", writers)
        until_s = math.min(until_s, task.until_s)
    end
    local readable, writable = {}, {}
    local left_s = math.max(0, until_s - now_s())
    if #readers + #writers > 0 then
        readable, writable = require("socket.core").select(readers, writers, left_s)
    elseif left_s > 0 then
        require("slate.base.clock").sleep(left_s)
    end
    for _, socket in ipairs(readable) do
        local task = reader_of[socket]
        task.readable = task.readable or {}
        table.insert(task.readable, socket)
    end
    for _, socket in ipairs(writable) do
        local task = writer_of[socket]
        task.writable = task.writable or {}
        table.insert(task.writable, socket)
    end
end

-- Resumes a task until it waits again or ends.
local function go_on(task, ...)
    local thread = task.thread
    running[thread] = task
    local results = table.pack(coroutine.resume(thread, ...))
    running[thread] = nil
    if not results[1] then
        spawned, nested, queue = {}, 0, { first = 1, last = 0 }
        error(results[2], 0)
    elseif coroutine.status(thread) == "dead" then
        task.results = table.pack(table.unpack(results, 2, results.n))
        return
    end
    task.readers, task.writers, task.readable, task.writable = results[2], results[3], nil, nil
    task.until_s = now_s() + (results[4] or math.huge)
end

local function run_batch(tasks)
    local left = {}
    for i, task in ipairs(tasks) do
        go_on(task)
        left[i] = task
    end
    while true do
        while #spawned > 0 do
            local task = table.remove(spawned, 1)
            go_on(task)
            left[#left + 1] = task
        end
        for i = #left, 1, -1 do
            if left[i].results then
                table.remove(left, i)
            end
        end
        if #left == 0 then
            return
        end
        await(left)
        local time_s = now_s()
        for _, task in ipairs(left) do
            if task.readable or task.writable or time_s >= task.until_s then
                go_on(task, task.readable or {}, task.writable or {})
            end
        end
    end
end

local function begin_queued()
    while nested < room_for(NESTED_MOST) and queue.first <= queue.last do
        nested, spawned[#spawned + 1] = nested + 1, queue[queue.first]
        queue[queue.first], queue.first = nil, queue.first + 1
    end
end

-- Runs functions as nested tasks; the calling task waits. They must not call M.run, since they may fill all the room.
local function run_nested(functions)
    local parent, left, tasks, raised = running[coroutine.running()], #functions, {}, nil
    for i, f in ipairs(functions) do
        local task = {}
        task.thread = coroutine.create(function()
            local results = table.pack(pcall(f))
            if not results[1] then
                raised = raised or results
            end
            left, parent.until_s = left - 1, 0 -- wakes the parent, which checks `left`
            nested = nested - 1
            begin_queued()
            return table.unpack(results, 2, results.n)
        end)
        queue.last = queue.last + 1
        tasks[i], queue[queue.last] = task, task
    end
    begin_queued()
    while left > 0 do
        coroutine.yield(nil, nil, math.huge)
    end
    if raised then
        error(raised[2], 0)
    end
    return tasks
end

--- The number of tasks that run at once, each with a connection: 500, or fewer by the limit of open files.
function M.at_once()
    return room_for(AT_ONCE)
end

--- Runs functions, at most at_once() of them at a time, and returns when all have returned: a list of the packed
-- results of each.
-- Functions of tasks that call this run 300 at a time in all, and must not call it again.
-- An error in one is raised again; the others are abandoned before that or, if a task called, run to their end.
function M.run(functions)
    local results, at_once = {}, M.at_once()
    for first = 1, #functions, at_once do
        local batch = table.move(functions, first, math.min(first + at_once - 1, #functions), 1, {})
        local tasks = {}
        if M.is_task() then
            tasks = run_nested(batch)
        else
            for i, f in ipairs(batch) do
                tasks[i] = { thread = coroutine.create(f) }
            end
            run_batch(tasks)
        end
        for i, task in ipairs(tasks) do
            results[first + i - 1] = task.results
        end
    end
    return results
end

--- Calls f with each entry of a list, all at once. Returns a list of the packed results of each call.
function M.each(list, f)
    local functions = {}
    for i, one in ipairs(list) do
        functions[i] = function() return f(one) end
    end
    return M.run(functions)
end

local ACCEPT_S <const> = 0.2 -- how often Ctrl-C is checked while nobody connects

--- Serves the connections of a listening socket, each as a task, until the program is interrupted.
-- serve(peer, asked) gets a peer that does not block; the peer is closed when serve returns.
-- serve calls asked() once the peer has sent a request. For a connection beyond most_peers, the oldest silent peer is
-- closed. If no peer is silent, the connection waits for its turn.
function M.serve(listening, most_peers, serve)
    local peers, silent = 0, {} -- silent: { peer, task }, the oldest first; asked() removes its peer
    listening:settimeout(0)
    local function leave_silent(peer)
        for i, one in ipairs(silent) do
            if one.peer == peer then
                return table.remove(silent, i)
            end
        end
    end
    local function begin(peer)
        local task = { thread = coroutine.create(function()
            serve(peer, function() leave_silent(peer) end)
            leave_silent(peer)
            peer:close()
            peers = peers - 1
        end) }
        silent[#silent + 1], spawned[#spawned + 1] = { peer = peer, task = task }, task
    end
    local function close_first_silent()
        local first = table.remove(silent, 1)
        first.peer:close()
        first.task.until_s = 0 -- the task wakes, finds its peer closed, and ends
    end
    local function take_connections()
        while true do
            local has_room = peers < most_peers or #silent > 0
            local ready = M.select(has_room and { listening } or nil, nil, ACCEPT_S)
            local peer = #ready > 0 and listening:accept()
            if #ready > 0 and not peer then
                M.select(nil, nil, ACCEPT_S) -- no descriptor is free, or the client left: the socket may stay ready
            elseif peer then
                if peers >= most_peers and #silent > 0 then
                    close_first_silent()
                end
                peers = peers + 1
                peer:settimeout(0)
                begin(peer)
            end
        end
    end
    M.run({ take_connections })
end

return M
