-- SPDX-License-Identifier: BSD-3-Clause
--- Files of recordings, whose lines slate.facts.record_line makes and reads: slatectl reads them, too. Reading checks
--- everything: a line that is no snapshot is reported and skipped. Each line is written at once and alone, so a
--- recording stays readable after any crash.
local files = require "slate.console.files"
local record_line = require "slate.facts.record_line"

local M = {}

local LINE_MOST_BYTES <const> = 4 << 20

local Reader = {}
Reader.__index = Reader
Reader.__name = "slate.console.recording.reader"

--- Opens a recording to read; or nil and a sentence.
function M.open(path)
    local lines, why = files.lines(path)
    if not lines then
        return nil, ("cannot read %s: %s"):format(path, why)
    end
    return setmetatable({ lines = lines, chain = record_line.chain(false, false), number = 0 }, Reader)
end

--- The next snapshot, with the settings that hold; or false and a sentence about a bad line; nil at the end. Its
--- time_s is the time of day.
function Reader:next()
    local line, is_cut = self.lines:next(LINE_MOST_BYTES)
    if not line then
        return nil
    end
    self.number = self.number + 1
    local one, problem
    if is_cut then
        problem = "it is longer than 4 MiB"
    else
        one, problem = self.chain:decode(line)
    end
    if not one then
        return false, ("line %d is not a snapshot: %s"):format(self.number, problem)
    end
    self.settings = one.settings or self.settings
    one.settings = self.settings
    return one
end

--- The share of the file that has been read.
function Reader:read_ratio()
    return self.lines:read_ratio()
end

function Reader:close()
    self.lines:close()
end

local Writer = {}
Writer.__index = Writer
Writer.__name = "slate.console.recording.writer"

--- Opens a recording to append to: a new file, or one that is a recording already. nil and a sentence on failure.
function M.append_to(path)
    local file, first_line, ends_whole = files.append_to(path)
    local why
    if not file then
        why = ("cannot write %s: %s"):format(path, first_line)
    elseif first_line and not first_line:find('{"schema":"slate/snapshot/1"', 1, true) then
        why = path .. " exists and is not a recording: nothing was written to it"
    elseif first_line and not ends_whole then
        local is_written, problem = file:append("\n") -- the torn line of an earlier run stays open
        why = not is_written and ("cannot write %s: %s"):format(path, problem) or nil
    end
    if why then
        if file then
            file:close()
        end
        return nil, why
    end
    return setmetatable({ file = file, path = path, chain = record_line.chain(true) }, Writer)
end

--- Appends a snapshot, from its replies' texts by group. about: of slate.facts.snapshot.build. True; or nil and a
--- sentence.
function Writer:write(texts, about)
    local is_written, problem = self.file:append(self.chain:next(texts, about) .. "\n")
    if not is_written then
        return nil, "the recording ends here: " .. problem
    end
    return true
end

function Writer:close()
    self.file:close()
end

return M
