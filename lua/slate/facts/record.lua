-- SPDX-License-Identifier: BSD-3-Clause
--- Recordings: files of snapshots, one line of JSON each, only ever appended to.
--
-- Each line is written in one call, so a recording stays readable after a crash or on a full disk: the reader skips
-- lines that are no complete snapshot, and reports how many.
local record_line = require "slate.facts.record_line"
local snapshot = require "slate.facts.snapshot"

local M = {}

M.LINE_BYTES = 4 << 20 -- ten times the size of 255 classes with their curves; a longer line is skipped

local Writer = {}
Writer.__index = Writer
Writer.__name = "slate.facts.record"

--- A writer over an open handle (anything with write and flush). `name` is for messages. has_changes: whole snapshots
-- alternate with lines of changes only (slate.facts.record_line).
function M.writer(handle, name, has_changes)
    if handle.setvbuf then
        handle:setvbuf("full", 1 << 20) -- so that flush writes a line with one system call
    end
    return setmetatable({ handle = handle, name = name, written = 0, chain = record_line.chain(has_changes) }, Writer)
end

--- Appends one snapshot, which belongs to the writer from now on. Returns true, or nil, message, "output"; earlier
-- lines stay valid.
function Writer:append(one)
    local ok, problem = self.handle:write(self.chain:encode(one), "\n")
    if ok then
        ok, problem = self.handle:flush()
    end
    if not ok then
        return nil, ("cannot write %s: %s; it holds %s of this run"):format(
            self.name, (problem:gsub("^.*: ", "")),
            require("slate.base.units").plural(self.written, "snapshot")), "output"
    end
    self.written = self.written + 1
    return true
end

--- Closes the file.
function Writer:close()
    self.handle:close()
end

-- Examines an existing file: is it a recording, and is its last line complete?
local function examine(file, path)
    local first = file:read(65536)
    if not first then
        return true, true -- empty
    end
    if not first:find('{"schema":"' .. snapshot.SCHEMA .. '"', 1, true) then
        return nil, path .. " exists and is not a recording: nothing was written to it"
    end
    file:seek("end", -1)
    return true, file:read(1) == "\n"
end

--- Opens a recording to append to: a new file, or with `may_append` an existing one. is_whole: every snapshot is
-- written whole.
-- Returns the writer, or nil, message and code: "usage" if the file must not be changed, "output" if it cannot be
-- opened.
function M.create(path, may_append, is_whole)
    local ends_complete, input = true, require "slate.base.input"
    local kind = input.kind(path)
    if kind == "other" or kind == "socket" then
        return nil, ("cannot write %s: %s"):format(path, input.NOT_REGULAR), "output"
    end
    local existing = io.open(path, "rb")
    if existing then
        local ok
        ok, ends_complete = examine(existing, path)
        local is_empty = ok and existing:seek("end") == 0
        existing:close()
        if not ok then
            return nil, ends_complete, "usage"
        elseif not is_empty and not may_append then
            return nil, path .. " exists: choose another name, or --append to continue it", "usage"
        end
    end
    local file, problem = io.open(path, "ab")
    if not file then
        return nil, "cannot write " .. problem, "output"
    end
    local writer = M.writer(file, path, not is_whole)
    if not ends_complete then
        file:write("\n") -- closes the torn line of an earlier run
    end
    return writer
end

-- A snapshot has settings only if they changed: a server's settings hold until its next ones.
local function hold_settings(list)
    local last = {}
    for _, one in ipairs(list) do
        local server = one.server or ""
        one.settings = one.settings or last[server]
        last[server] = one.settings
    end
end

--- Sorts a list of snapshots by time; those of one moment stay in their order.
function M.sort(list)
    local places = {}
    for place, one in ipairs(list) do
        places[one] = place
    end
    table.sort(list, function(a, b)
        return a.time_s < b.time_s or a.time_s == b.time_s and places[a] < places[b]
    end)
end

--- Reads a recording from a handle. Each snapshot gets the settings of its time. Returns the list of snapshots, the
-- number of skipped lines, and the problem of the first of these (nil if none); or nil and a message if no line is a
-- snapshot.
function M.read(handle, name)
    local list, skipped, number, first_problem, chain = {}, 0, 0, nil, record_line.chain()
    for line, is_too_long in require("slate.base.input").lines(handle, M.LINE_BYTES) do
        local one, problem
        if is_too_long then
            problem, line = ("longer than %d MiB"):format(M.LINE_BYTES >> 20), nil
        else
            one, problem = chain:decode(line)
        end
        number = number + 1
        if one then
            list[#list + 1] = one
        elseif line ~= "" then
            skipped = skipped + 1
            first_problem = first_problem or ("line %d: %s"):format(number, problem)
        end
    end
    if #list == 0 then
        return nil, chain:why_none(name, first_problem or "it is empty")
    end
    M.sort(list)
    hold_settings(list)
    return list, skipped, first_problem
end

--- Reads a recording from a file. Like `read`, with a code on failure: "input", or "form" if it is none.
function M.load(path)
    local file, problem = require("slate.base.input").open(path)
    if not file then
        return nil, "cannot read " .. problem, "input"
    end
    local _, unreadable = file:read(0) -- a folder opens, but its read fails
    if unreadable then
        file:close()
        return nil, ("cannot read %s: %s"):format(path, unreadable), "input"
    end
    local list, skipped, first_problem = M.read(file, path)
    file:close()
    if not list then
        return nil, skipped, "form"
    end
    return list, skipped, first_problem
end

return M
