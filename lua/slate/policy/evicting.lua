-- SPDX-License-Identifier: BSD-3-Clause
--- Eviction policies in Lua, for the simulator alone: a trace played to caches whose victims a file names.
--
--     local one = assert(evicting.open("gdsf.lua"))
--     local rows = assert(evicting.play(one, "build/bin/slated", { trace = "t.gz", words = {} }, sizes))
--
-- slate-policies(7) tells how to write one. slated reads the trace, whatever its form, and hands its requests on as
-- text.
-- The file sees what policies of page moves see (slate.base.policy_box): no files, no clock, no other programs.
-- It runs in the sandbox of those (slate.base.sandbox), which bounds one request here: what it keeps of a cache may be
-- large.
local policy_box = require "slate.base.policy_box"
local policy_file = require "slate.policy.file"
local sandbox = require "slate.base.sandbox"
local shell = require "slate.base.shell"
local trimmed = require("slate.base.units").trimmed

local M = {}

--- What an item takes beside its key and value, where caches are of memory: its header and its place in the index.
M.ITEM_BYTES = 40

-- Methods of texts are the policy's while it runs, so what is needed here then is not looked up as one.
local format, match = string.format, string.match

-- Of the file, and then of each request. A look at the limits costs as much as many instructions.
local INSTRUCTIONS <const>, STEP <const> = 10000000, 10000
local FUNCTIONS <const> = { "init", "store", "victim", "hit", "gone", "admit" }
local NEEDED <const> = { "store", "victim" }

-- The policy of what the file has returned: its name, and its functions without the table they stood in.
local function check(box, value, path)
    if type(value) ~= "table" then
        return nil, ("%s returns a %s, not the table of a policy"):format(path, type(value))
    end
    local policy = sandbox.plain(value, 1)
    for _, name in ipairs(FUNCTIONS) do
        if policy[name] ~= nil and type(policy[name]) ~= "function" then
            return nil, ("%s: %s is a %s, not a function"):format(path, name, type(policy[name]))
        end
    end
    for _, name in ipairs(NEEDED) do
        if not policy[name] then
            return nil, ("%s has no function %s, which every eviction policy needs"):format(path, name)
        end
    end
    local name = policy.name or path:match("([^/]*)$"):gsub("%.lua$", "")
    if type(name) ~= "string" or not name:find("^[%w_-]+$") or #name > 24 then
        return nil, ("%s: its name is up to 24 letters, digits, - and _"):format(path)
    end
    return { name = name, path = path, policy = policy, box = box }
end

--- Loads a file. Returns { name, path, policy }, or nil, message, "input".
function M.open(path)
    local text, problem = policy_file.read_source(path)
    if not text then
        return nil, problem, "input"
    end
    local function log(words)
        io.stderr:write(policy_box.printable(path), ": ", words, "\n")
    end
    local box = sandbox.new(log, { instructions = INSTRUCTIONS, step = STEP, memory_bytes = math.huge,
        cpu_s = math.huge, lines = math.huge })
    local chunk
    chunk, problem = box:load(text, path)
    if not chunk then
        return nil, problem, "input"
    end
    local ok, value = box:call(chunk)
    if not ok then
        return nil, value, "input"
    end
    local one
    one, problem = check(box, value, path)
    if not one then
        return nil, problem, "input"
    end
    return one
end

-- One cache ------------------------------------------------------------------------------------

local Cell = {}
Cell.__index = Cell

local function none() end

-- capacity: objects or bytes, of the sample that is played.
local function new_cell(policy, size, capacity, by_objects)
    local state = policy.init and policy.init({ capacity = capacity, by_objects = by_objects }) or {}
    return setmetatable({ policy = policy, state = state, size = size, capacity = capacity, by_objects = by_objects,
        hit = policy.hit or none, gone = policy.gone or none, weights = {}, expires_ms = {}, used = 0, items = 0,
        requests = 0, hits = 0, evictions = 0, refused = 0 }, Cell)
end

function Cell:remove(key)
    self.used, self.items = self.used - self.weights[key], self.items - 1
    self.weights[key], self.expires_ms[key] = nil, nil
    self.gone(self.state, key)
end

function Cell:make_room(weight)
    while self.used + weight > self.capacity do
        local victim = self.policy.victim(self.state)
        if victim == nil or not self.weights[victim] then
            error(format("victim names %s, which is not stored", victim == nil and "nothing"
                or type(victim) == "string" and "'" .. victim .. "'" or "a " .. type(victim)), 0)
        end
        self:remove(victim)
        self.evictions = self.evictions + 1
    end
end

function Cell:store(key, weight, expires_ms)
    local admit = self.policy.admit
    if weight > self.capacity or admit and not admit(self.state, key, weight) then
        self.refused = self.refused + 1
        return
    end
    self:make_room(weight)
    self.weights[key], self.expires_ms[key] = weight, expires_ms
    self.used, self.items = self.used + weight, self.items + 1
    self.policy.store(self.state, key, weight)
end

-- weight: nil where the trace does not tell what a miss is followed by.
function Cell:play(verb, key, weight, now_ms, ttl_s)
    if self.expires_ms[key] and self.expires_ms[key] <= now_ms then
        self:remove(key)
    end
    local there = self.weights[key]
    local expires_ms = ttl_s and ttl_s > 0 and now_ms + ttl_s * 1000 or nil
    if verb == "get" then
        self.requests = self.requests + 1
        if there then
            self.hits = self.hits + 1
            self.hit(self.state, key, there)
        elseif weight then
            self:store(key, weight, expires_ms)
        end
    elseif verb == "delete" then
        if there then
            self:remove(key)
        end
    elseif there == weight then
        self.expires_ms[key] = expires_ms
        self.hit(self.state, key, weight)
    else
        if there then
            self:remove(key)
        end
        self:store(key, weight, expires_ms)
    end
end

-- The whole ------------------------------------------------------------------------------------

-- The requests as text, of slated.
local function open_trace(program, grid)
    local words = { shell.word(program), "--print", "--simulate=" .. shell.word(grid.trace) }
    for _, word in ipairs(grid.words) do
        words[#words + 1] = shell.word(word)
    end
    local errors = os.tmpname()
    return assert(io.popen(("{ exec %s; } 2>%s"):format(table.concat(words, " "), shell.word(errors)), "r")), errors
end

local function close_trace(pipe, errors)
    local ok = pipe:close()
    local said = trimmed((shell.read_and_remove(errors):gsub("^slated: ", "")))
    if not ok then
        return nil, said ~= "" and said or "slated could not read the trace", "input"
    end
    return true
end

-- The cells of all sizes. sizes: of the whole, ascending.
local function make_cells(one, grid, sizes, sample)
    local cells = {}
    for i, size in ipairs(sizes) do
        cells[i] = new_cell(one.policy, size, math.max(1, math.floor(size * sample + 0.5)), grid.by_objects)
    end
    return cells
end

local function play_lines(one, pipe, grid, sizes, progress)
    local sample = 1 / (tonumber(match(pipe:read("l") or "", "sample=1/(%d+)")) or 1)
    local cells, known, ttls = make_cells(one, grid, sizes, sample), {}, {}
    for line in pipe:lines() do
        local ms, verb, key, bytes, ttl = match(line, "^(%d+) (%l+) (%S+) (%S+) (%S+)")
        if ms then
            progress.requests = progress.requests + 1
            one.box:renew()
            bytes, ttl = tonumber(bytes), tonumber(ttl)
            if verb == "set" then
                known[key], ttls[key] = bytes, ttl
            end
            bytes, ttl = bytes or known[key], ttl or ttls[key]
            local weight = grid.by_objects and 1 or bytes and bytes + #key + M.ITEM_BYTES
            for _, cell in ipairs(cells) do
                cell:play(verb, key, weight, tonumber(ms), ttl)
            end
        end
    end
    return cells, sample
end

local function whole(count, sample)
    return math.floor(count / sample + 0.5)
end

local function row_of(one, grid, cell, sample, seconds)
    local ratio = cell.requests > 0 and cell.hits / cell.requests or 0
    local row = { trace = grid.trace, policy = one.name, requests = whole(cell.requests, sample),
        hits = whole(cell.hits, sample), hit_ratio = ratio, miss_ratio = 1 - ratio, items = whole(cell.items, sample),
        evictions = whole(cell.evictions, sample), refused = whole(cell.refused, sample), seconds = seconds }
    if grid.by_objects then
        row.objects = cell.size
    else
        row.memory_bytes, row.held_bytes = cell.size, whole(cell.used, sample)
    end
    return row
end

--- Plays a trace to caches of these sizes. grid: { trace, by_objects, words = further options of slated }.
-- Returns rows as slated gives them, one for each size; or nil, message, code.
function M.play(one, program, grid, sizes)
    local pipe, errors = open_trace(program, grid)
    local progress, started_s = { requests = 0 }, os.clock()
    local ok, cells, sample = one.box:call(play_lines, one, pipe, grid, sizes, progress)
    local read, message, code = close_trace(pipe, errors)
    if not ok then
        return nil, ("%s, at request %d: %s"):format(one.path, progress.requests, cells), "input"
    elseif not read then
        return nil, message, code
    end
    local rows = {}
    for i, cell in ipairs(cells) do
        rows[i] = row_of(one, grid, cell, sample, os.clock() - started_s)
    end
    return rows
end

return M
