-- SPDX-License-Identifier: BSD-3-Clause
--- Eviction policies in Lua, for the simulator alone: a trace played to caches whose victims a file names.
--
--     local one = assert(evicting.open("gdsf.lua"))
--     local rows = assert(evicting.play(one, "build/bin/slated", { trace = "t.gz", words = {} }, sizes))
--
-- slate-policies(7) tells how to write one. slated reads the trace, whatever its form, and hands its requests on as
-- text.
-- The file sees what policies of page moves see (slate.base.policy_box): no files, no clock, no other programs.
local box = require "slate.base.policy_box"
local shell = require "slate.base.shell"

local M = {}

--- What an item takes beside its key and value, where caches are of memory: its header and its place in the index.
M.ITEM_BYTES = 40

local STEPS_MOST <const> = 10000000 -- of Lua's machine, for one request
local STEPS_A_LOOK <const> = 1000000
local FUNCTIONS <const> = { "init", "store", "victim", "hit", "gone", "admit" }
local NEEDED <const> = { "store", "victim" }

local function message_of(raised)
    return type(raised) == "string" and box.printable(raised)
        or ("raised a %s instead of a message"):format(type(raised))
end

local function check(value, path)
    if type(value) ~= "table" then
        return nil, ("%s returns a %s, not the table of a policy"):format(path, type(value))
    end
    for _, name in ipairs(FUNCTIONS) do
        if value[name] ~= nil and type(value[name]) ~= "function" then
            return nil, ("%s: %s is a %s, not a function"):format(path, name, type(value[name]))
        end
    end
    for _, name in ipairs(NEEDED) do
        if not value[name] then
            return nil, ("%s has no function %s, which every eviction policy needs"):format(path, name)
        end
    end
    local name = value.name or path:match("([^/]*)$"):gsub("%.lua$", "")
    if type(name) ~= "string" or not name:find("^[%w_-]+$") or #name > 24 then
        return nil, ("%s: its name is up to 24 letters, digits, - and _"):format(path)
    end
    return { name = name, path = path, policy = value }
end

--- Loads a file. Returns { name, path, policy }, or nil, message, "input".
function M.open(path)
    local file, problem = io.open(path, "rb")
    local text = file and file:read(box.LIMITS.source_bytes + 1)
    if file then
        file:close()
    end
    if not text then
        return nil, ("cannot read %s"):format(problem or path), "input"
    elseif #text > box.LIMITS.source_bytes then
        return nil, ("%s is larger than %d KiB"):format(path, box.LIMITS.source_bytes >> 10), "input"
    end
    local environment = box.environment(_G, { log = function(words) io.stderr:write(path, ": ", words, "\n") end,
        charge = function() end, lines_left = math.huge })
    local loaded
    loaded, problem = load(text, "=" .. path, "t", environment)
    if not loaded then
        return nil, box.printable(problem), "input"
    end
    local ok, value = pcall(loaded)
    if not ok then
        return nil, message_of(value), "input"
    end
    local one
    one, problem = check(value, path)
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
            error(("victim names %s, which is not stored"):format(victim == nil and "nothing"
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
    local said = shell.read_and_remove(errors):gsub("^slated: ", ""):gsub("%s+$", "")
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
    local head = pipe:read("l") or ""
    local sample = 1 / (tonumber(head:match("sample=1/(%d+)")) or 1)
    local cells, known, ttls = make_cells(one, grid, sizes, sample), {}, {}
    for line in pipe:lines() do
        local ms, verb, key, bytes, ttl = line:match("^(%d+) (%l+) (%S+) (%S+) (%S+)")
        if ms then
            progress.requests = progress.requests + 1
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

-- Ends a policy that does not come to an end with one request.
local function watch(progress)
    local last, looks = nil, 0
    debug.sethook(function()
        looks = last == progress.requests and looks + 1 or 0
        last = progress.requests
        if looks * STEPS_A_LOOK > STEPS_MOST then
            error(("took more than %d instructions for one request"):format(STEPS_MOST), 0)
        end
    end, "", STEPS_A_LOOK)
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
    watch(progress)
    local ok, cells, sample = pcall(play_lines, one, pipe, grid, sizes, progress)
    debug.sethook()
    local read, message, code = close_trace(pipe, errors)
    if not ok then
        return nil, ("%s, at request %d: %s"):format(one.path, progress.requests, message_of(cells)), "input"
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
