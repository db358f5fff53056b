-- Many requests on one client without waiting for each reply: batch:set("a", "1"):get("a"), then batch:run(). The
-- methods are the operations of slate.wire.request.
local requests = require "slate.wire.request"

local BATCH_REQUESTS <const> = 100 -- sent before their answers are read

local Pipeline = {}
Pipeline.__index = Pipeline

local function new(client)
    return setmetatable({ client = client, results = {}, errors = {}, count = 0, waiting = {} }, Pipeline)
end

for name, build in pairs(requests.OPERATIONS) do
    Pipeline[name] = function(self, ...)
        self.waiting[#self.waiting + 1] = assert(build(...))
        if #self.waiting == BATCH_REQUESTS then
            self:flush()
        end
        return self
    end
end

function Pipeline:flush()
    local texts = {}
    for i, request in ipairs(self.waiting) do texts[i] = requests.text(request) end
    assert(self.client:send(table.concat(texts), self.timeout_s))
    for i, request in ipairs(self.waiting) do
        local result, message, code = request.read(self.client)
        self.results[self.count + i] = result
        self.errors[self.count + i] = result == nil and { message, code } or nil
    end
    self.count, self.waiting = self.count + #self.waiting, {}
end

-- Returns the answers and, of requests that failed, { message, code }, both by the numbers of the requests.
function Pipeline:run()
    self:flush()
    return self.results, self.errors
end

-- All requests must have been answered.
function Pipeline:finish()
    local _, errors = self:run()
    return not next(errors), table.concat(select(2, next(errors)) or {}, " ")
end

return new
