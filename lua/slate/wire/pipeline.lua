-- SPDX-License-Identifier: BSD-3-Clause
--- Many requests on one connection without waiting for each answer.
--
--     local batch = client:pipeline()
--     for i = 1, 1000 do batch:set("key-" .. i, "value") end
--     local results, errors = batch:run()
--
--     local quiet = client:quiet()
--     for i = 1, 1000 do quiet:set("key-" .. i, "value") end
--     assert(quiet:finish())
--
-- A pipeline has the methods get, get_many, set, delete, touch, incr, decr, flush_all and meta of slate.wire.client,
-- with the same arguments; the no-reply mode those that have a `noreply` in the protocol: set, delete, touch, incr,
-- decr and flush_all.
-- @module slate.wire.pipeline
local requests = require "slate.wire.request"

local M = {}

-- What is sent before its answers are read: enough to make the round trip nothing, little enough for any buffer.
local BATCH_REQUESTS <const>, BATCH_BYTES <const> = 128, 256 << 10
local QUIET_BYTES <const> = 64 << 10

local Pipeline = {}
Pipeline.__index = Pipeline
Pipeline.__name = "slate.wire.pipeline"

local function reset(self)
    local results, errors = self.results, self.errors
    self.requests, self.results, self.errors, self.count, self.next = {}, {}, {}, 0, 1
    return results, errors
end

--- Makes an empty pipeline. `client:pipeline()` does the same.
-- @tparam Client client it must not be used for anything else while the pipeline runs
-- @treturn Pipeline
function M.new(client)
    local self = setmetatable({ client = client }, Pipeline)
    reset(self)
    return self
end

for name, build in pairs(requests.OPERATIONS) do
    Pipeline[name] = function(self, ...)
        local request, message, code = build(...)
        if request and self.client.read_only then
            local ok
            ok, message, code = self.client:permits(request.line)
            request = ok and request
        end
        self.count = self.count + 1
        self.requests[self.count] = request or false
        self.errors[self.count] = not request and { message, code } or nil
        return self
    end
end

-- The next requests to send together: their text, and the number of the last.
local function next_batch(self, first)
    local parts, bytes, last = {}, 0, first - 1
    while last < self.count and last - first + 1 < BATCH_REQUESTS and bytes < BATCH_BYTES do
        last = last + 1
        local request = self.requests[last]
        if request then
            parts[#parts + 1] = requests.text(request)
            bytes = bytes + #parts[#parts]
            if self.client.trace then
                self.client.trace(request.line)
            end
        end
    end
    return table.concat(parts), last
end

-- Sends the next batch and reads its answers.
local function run_batch(self, timeout_s)
    local text, last = next_batch(self, self.next)
    local sent, message, code = true, nil, nil
    if text ~= "" then
        sent, message, code = self.client:send(text, timeout_s)
    end
    for i = self.next, last do
        local request = self.requests[i]
        if request and sent then
            self.results[i], message, code = request.read(self.client)
            self.errors[i] = self.results[i] == nil and { message, code } or nil
        elseif request then
            self.errors[i] = { message, code }
        end
    end
    self.next = last + 1
end

--- Sends all requests and reads all answers, in batches; the pipeline is empty afterwards. Each batch has the time-out
-- of the client, or the one given here. When the connection is lost, what was not answered yet has that error.
-- @tparam[opt] table options `timeout_s`
-- @treturn table from the number of a request, counted from 1, to its answer; nil where there is none
-- @treturn table from the number of each that failed to { message, code }
function Pipeline:run(options)
    while self.next <= self.count do
        run_batch(self, options and options.timeout_s)
    end
    return reset(self)
end

local Quiet = {}
Quiet.__index = Quiet
Quiet.__name = "slate.wire.pipeline.quiet"

--- Makes the no-reply mode of a client. `client:quiet()` does the same. What is sent is gathered to 64 KiB at a time.
-- @tparam Client client it must not be used for anything else before `finish`
-- @treturn Quiet
function M.quiet(client)
    return setmetatable({ client = client, parts = {}, waiting_bytes = 0 }, Quiet)
end

for name, build in pairs(requests.OPERATIONS) do
    Quiet[name] = function(self, ...)
        local request, message, code = build(...)
        if not request then
            return nil, message, code
        elseif not request.quiet then
            return nil, name .. " has no noreply", "usage"
        end
        local ok
        ok, message, code = self.client:admit(request.line .. " noreply")
        if not ok then
            return nil, message, code
        end
        local text = requests.text(request, true)
        self.parts[#self.parts + 1] = text
        self.waiting_bytes = self.waiting_bytes + #text
        if self.waiting_bytes >= QUIET_BYTES then
            return self:flush()
        end
        return true
    end
end

--- Sends what has been gathered.
-- @treturn boolean true, or nil, message, code when the connection is lost
function Quiet:flush()
    local text = table.concat(self.parts)
    self.parts, self.waiting_bytes = {}, 0
    return self.client:send(text)
end

--- Sends what has been gathered, and waits until the server has carried all of it out. A store that failed is mostly
-- silent too; what servers do say in spite of noreply, such as ERROR, is told here.
-- @treturn boolean true, or nil, message, code
function Quiet:finish()
    self.parts[#self.parts + 1] = "version\r\n"
    local ok, message, code = self:flush()
    if not ok then
        return nil, message, code
    end
    local complaints, first = 0, nil
    while true do
        local line
        line, message, code = self.client:line()
        if not line then
            return nil, message, code
        elseif line:find("^VERSION ") then
            break
        end
        complaints, first = complaints + 1, first or line
    end
    if first then
        message, code = requests.refusal(first)
        if not message then
            return self.client:lost("unexpected reply: " .. first:sub(1, 60), "protocol")
        end
        return nil, ("%s (%d such lines)"):format(message, complaints), code
    end
    return true
end

return M
