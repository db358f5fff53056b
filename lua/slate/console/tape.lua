-- SPDX-License-Identifier: BSD-3-Clause
--- The past of one server: every snapshot of about an hour. Forty classes that all change take about 4 MB an hour.
--
-- A sample is one text: its times, and the changes since the sample before it (of slate.console.sample_code). A block
-- of samples begins with a whole snapshot, as changes since one of zeros. Beyond the limits of samples or bytes the
-- oldest block is dropped. Samples have numbers that never change.
local change = require "slate.facts.record_change"
local gather = require "slate.base.gather"
local sample_code = require "slate.console.sample_code"

local M = {}

--- An hour, at a sample a second.
M.HOUR_SAMPLES = 3600

local BLOCK_SAMPLES <const> = 128
local TIMES <const> = "<dddd" -- the time of day, the steady time, its error, reply_ms
local CHANGES_AT <const> = string.packsize(TIMES) + 1
local NAN <const>, STRING_BYTES <const> = 0 / 0, 40
local PART_BYTES <const>, KEY_BYTES <const> = 16, 80 -- of a layout
local BARE <const> = { "server", "version", "slated", "role", "store", "pages_free", "pages_limit", "general", "totals",
    "classes" }

local Tape = {}
Tape.__index = Tape
Tape.__name = "slate.console.tape"

--- A tape without samples. Fields: first and last (the numbers of the oldest sample and of the newest; last is less
-- than first while there is none), bytes. The last block stays even beyond the limits.
function M.new(samples_most, bytes_most)
    return setmetatable({ samples_most = samples_most or M.HOUR_SAMPLES, bytes_most = bytes_most or math.huge,
        first = 1, last = 0, bytes = 0, blocks = {}, settings = {} }, Tape)
end

-- A snapshot without settings.
local function bare_of(one)
    local bare = {}
    for _, name in ipairs(BARE) do
        bare[name] = one[name]
    end
    return bare
end

local function grow(tape, block, bytes)
    block.bytes, tape.bytes = block.bytes + bytes, tape.bytes + bytes
end

-- Classes with the same figures share their part of a layout.
local function layout_bytes(layout)
    local bytes = 0
    for i, part in ipairs(layout) do
        bytes = bytes + PART_BYTES + (part ~= layout[i - 1] and KEY_BYTES * #part.keys or 0)
    end
    return bytes
end

-- Begins a block with a snapshot.
local function begin_block(tape, bare)
    local block, last = { first = tape.last + 1, bytes = 0 }, tape.blocks[#tape.blocks]
    local whole = last and last.code:encode(change.blank(last.code.layout), bare)
    if whole then
        block.code = last.code
    else
        block.code = sample_code.new(change.layout(bare))
        whole = block.code:encode(change.blank(block.code.layout), bare)
        grow(tape, block, layout_bytes(block.code.layout))
    end
    block.whole = whole
    grow(tape, block, #whole + STRING_BYTES)
    tape.blocks[#tape.blocks + 1] = block
    while #tape.blocks > 1 and (tape.bytes > tape.bytes_most
        or tape.last - tape.blocks[2].first >= tape.samples_most - 1) do
        tape.bytes = tape.bytes - table.remove(tape.blocks, 1).bytes
    end
    tape.first = tape.blocks[1].first
    return block
end

-- Settings seldom change: the tape has those from the first sample with them on.
local function take_settings(tape, settings)
    local known = (tape.settings[#tape.settings] or {}).of
    local is_known = known and settings and gather.is_same(known, settings)
    if settings and not is_known then
        tape.settings[#tape.settings + 1] = { from = tape.last + 1, of = settings }
    end
    while tape.settings[2] and tape.settings[2].from <= tape.first do
        table.remove(tape.settings, 1)
    end
end

--- Appends a snapshot. about: wall_s, at_s, reply_ms.
function Tape:add(one, about)
    local bare, block = bare_of(one), self.blocks[#self.blocks]
    local changes = block and #block < BLOCK_SAMPLES and block.code:encode(self.newest, bare)
    block = changes and block or begin_block(self, bare)
    take_settings(self, one.settings)
    local times = string.pack(TIMES, about.wall_s, about.at_s, one.time_error_s or 0, about.reply_ms or NAN)
    local sample = times .. (changes or "")
    block[#block + 1] = sample
    grow(self, block, #sample + STRING_BYTES)
    self.newest, self.last = bare, self.last + 1
end

-- The index of the last block for which is_before(block) holds, which is so for the first blocks; or 1.
local function block_index(tape, is_before)
    local low, high = 1, #tape.blocks
    while low < high do
        local middle = (low + high + 1) // 2
        if is_before(tape.blocks[middle]) then
            low = middle
        else
            high = middle - 1
        end
    end
    return low
end

local function block_of(tape, number)
    return tape.blocks[block_index(tape, function(block) return block.first <= number end)]
end

--- The time of day of a sample; nil when there is none.
function Tape:wall_s(number)
    if number < self.first or number > self.last then
        return nil
    end
    local block = block_of(self, number)
    return (string.unpack(TIMES, block[number - block.first + 1]))
end

-- Moves the reading position to a sample: from the last read one if it is before it in the same block.
local function wind(tape, number)
    local block, at = block_of(tape, number), tape.reading
    if not at or at.block ~= block or at.number > number then
        at = { block = block, number = block.first, one = change.blank(block.code.layout) }
        block.code:apply(at.one, block.whole, 1)
    end
    for next_number = at.number + 1, number do
        block.code:apply(at.one, block[next_number - block.first + 1], CHANGES_AT)
    end
    at.number, tape.reading = number, at
    return at.one, block[number - block.first + 1]
end

-- A copy of a snapshot with these fields of classes alone.
local function part_of(one, fields)
    local part, classes = bare_of(one), {}
    part.general = {}
    for name, value in next, one.general do
        part.general[name] = value
    end
    for i, class in ipairs(one.classes) do
        local copy = {}
        for _, name in ipairs(fields) do
            copy[name] = class[name]
        end
        classes[i] = copy
    end
    part.classes, part.totals = classes, {}
    return part
end

--- Reads a sample: a snapshot of its own, and { wall_s, at_s, reply_ms }; nil when there is none. fields: of classes,
-- if not all are needed.
function Tape:read(number, fields)
    if number < self.first or number > self.last then
        return nil
    end
    local one, sample = wind(self, number)
    local wall_s, at_s, error_s, reply_ms = string.unpack(TIMES, sample)
    one = fields and part_of(one, fields) or change.copy_of(one)
    one.time_s, one.time_error_s = at_s, error_s > 0 and error_s or nil
    for _, settings in ipairs(self.settings) do
        one.settings = settings.from <= number and settings.of or one.settings
    end
    return one, { wall_s = wall_s, at_s = at_s, reply_ms = reply_ms == reply_ms and reply_ms or nil }
end

--- The last sample at or before a time of day, or the first one.
function Tape:find(wall_s)
    if self.last < self.first then
        return self.first
    end
    local block = self.blocks[block_index(self, function(one) return string.unpack(TIMES, one[1]) <= wall_s end)]
    local found = block.first
    for i = 2, #block do
        found = string.unpack(TIMES, block[i]) <= wall_s and block.first + i - 1 or found
    end
    return found
end

return M
