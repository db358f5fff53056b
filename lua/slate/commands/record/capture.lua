-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl capture -o FILE [SERVER]: a sample of a server's requests as a trace, for simulate and slate-load.
local clock = require "slate.base.clock"
local must = require("slate.base.failure").must
local trace = require "slate.facts.trace"
local units = require "slate.base.units"

local M = {}

local ONE_IN <const>, ONE_IN_MOST <const> = 64, 1 << 20
local FOR_S <const>, MAX_BYTES <const> = 600, 1 << 30
local POLL_S <const> = 0.2
local SIZES <const> = { [""] = 1, k = 1 << 10, m = 1 << 20, g = 1 << 30 }

local function sample(text)
    local one_in = math.tointeger(tonumber(text:match("^1/(%d+)$")))
    if one_in and one_in >= 1 and one_in <= ONE_IN_MOST then
        return one_in
    end
    return nil, ("'%s' is not a sample: write one key in so many, such as 1/64, 1/%d at most"):format(text, ONE_IN_MOST)
end

local function bytes(text)
    local number, suffix = text:lower():match("^(%d+)([kmg]?)b?$")
    local size = number and tonumber(number) * SIZES[suffix]
    if size and size >= 1 and size < 2 ^ 53 then
        return math.tointeger(size)
    end
    return nil, ("'%s' is not a size: write 500m or 2g"):format(text)
end

function M.declare(command)
    command:argument("source", "The server, as for -s."):args("?"):argname("SERVER")
        :convert(function(text) return require("slate.wire.addresses").parse(text) end)
    command:option("-o --output", "The file to write; .gz and .zst are packed. - is standard output."):argname("FILE")
    command:option("--sample", "Keep the requests of one key in N. Default: 1/64"):argname("1/N"):convert(sample)
    command:flag("--anonymize", "Write hashes in place of keys, by a random key that is kept nowhere.")
    command:option("--for", "End after this long. Default: 10m"):argname("TIME"):convert(units.parse_duration)
        :target("for_s")
    command:option("--max-bytes", "End after this many bytes, counted before packing. Default: 1g"):argname("SIZE")
        :convert(bytes)
end

-- The events that the log has dropped so far; nil if the server does not count them.
local function dropped(client)
    local count = (require("slate.facts.stats").read(client) or {}).log_worker_dropped
    return math.type(count) == "integer" and count or nil
end

-- The watch commands, the cheapest for the server first: a slated samples by itself; a memcached may not know
-- deletions.
local function orders_of(who, one_in)
    local orders = { "watch fetchers mutations deletions", "watch fetchers mutations" }
    if who.slated then
        table.insert(orders, 1, orders[1] .. " sample=" .. one_in)
    end
    return orders
end

-- A connection that gets the events, and true if the server samples them; or nil, message, code.
local function begin(context, server, one_in)
    local answer
    local fault = require("slate.facts.faults").of_watch(context.who, { "mutations" })
    if fault then
        context:print_note("caution: " .. fault)
    end
    for _, order in ipairs(orders_of(context.who, one_in)) do
        local client, message, code = context:connect(server) -- a refused watch may have ended the last connection
        local line
        if client then
            line, message, code = client:command(order)
        end
        if not line then
            return nil, message, code
        elseif line == "OK" then
            return client, order:find("sample=", 1, true) ~= nil
        end
        client:close()
        answer = line
    end
    local refused, code = require("slate.wire.client").refusal(answer)
    return nil, ("the server cannot be watched (%s)"):format(require("slate.wire.request").printable(answer)),
        refused and code or "protocol"
end

-- A maker of the trace, with names for keys and the choice of the sample; or nil and a message.
local function maker_of(parsed, one_in, is_sampled)
    local siphash = require "slate.base.siphash"
    local hash, problem = siphash.random()
    local chosen = hash and siphash.random()
    if not chosen then
        return nil, problem or "no random bytes can be read"
    end
    return trace.new({
        sampled = not is_sampled and one_in > 1 and function(key) return (chosen(key) >> 1) % one_in == 0 end or nil,
        name = parsed.anonymize and trace.anonymous(hash) or trace.plain,
    })
end

local Capture = {}
Capture.__index = Capture

function Capture:write(lines)
    for _, text in ipairs(lines) do
        local ok, message, code = self.writer:write(text)
        if not ok then
            return nil, message, code
        end
        self.bytes = self.bytes + #text
    end
    return true
end

-- Reads events until the time or the size is reached. Returns true, or nil, message, code.
function Capture:follow(for_s, max_bytes)
    local until_s = clock.steady_s() + for_s
    while clock.steady_s() < until_s and self.bytes < max_bytes do
        local line, message, code = self.client.transport:receive_line(math.min(until_s, clock.steady_s() + POLL_S))
        if line then
            local ok
            ok, message, code = self:write(self.maker:take(line))
            if not ok then
                return nil, message, code
            end
        elseif code ~= "timeout" then
            return nil, message, code
        end
    end
    return true
end

-- Watches the server until the capture is complete. Returns true, or nil, message, code.
function Capture:run(context, server, parsed, one_in)
    local client, is_sampled, code = begin(context, server, one_in)
    if not client then
        return nil, is_sampled, code
    end
    local message
    self.client = client
    self.maker, message = maker_of(parsed, one_in, is_sampled)
    if not self.maker then
        return nil, message, "file"
    end
    local ok
    ok, message, code = self:write({ trace.head(one_in, context.who.slated and "slated" or "memcached") })
    if not ok then
        return nil, message, code
    end
    self.writer:flush()
    self.writer:name_on_signal()
    self.is_begun = true
    return self:follow(parsed.for_s or FOR_S, parsed.max_bytes or MAX_BYTES)
end

local function lost_words(figures)
    if not figures.dropped then
        return figures.is_counted and "how much was lost is not known: the server did not report it at the end"
            or "this server does not count lost events"
    end
    local lost = figures.dropped + figures.skipped
    return lost == 0 and "none lost" or ("%d events lost, and with them what the trace says of their keys: %d that the "
        .. "log dropped, %d that came too fast to be read"):format(lost, figures.dropped, figures.skipped)
end

-- Ends the file. Returns its figures, or nil, message, code.
function Capture:finish(before, other)
    local now = other and dropped(other)
    local figures = { requests = self.maker.written, skipped = self.maker.skipped,
        dropped = before and now and math.max(0, now - before) or nil, is_counted = before ~= nil,
        seconds = clock.steady_s() - self.started_s }
    local remainder = self.maker:remainder()
    figures.requests = figures.requests + #remainder
    local ok, message, code = self:write(remainder)
    if ok then
        ok, message, code = self.writer:write(("# end requests=%d seconds=%.1f lost=%s\n"):format(figures.requests,
            figures.seconds, figures.dropped and figures.dropped + figures.skipped or "unknown"))
    end
    if ok then
        ok, message, code = self.writer:finish()
    end
    if not ok then
        local part = self.writer:leave()
        return nil, part and ("%s; what could be written is in %s"):format(message, part) or message, code
    end
    figures.bytes = self.bytes
    return figures
end

local function open_servers(context, parsed)
    local server
    if parsed.source then
        local servers = must(require("slate.wire.addresses").expand({ parsed.source }))
        if #servers > 1 then
            return nil, ("capture takes one server, %d are given"):format(#servers), "usage"
        end
        server = servers[1]
    end
    local client, who = must(context:meet(server))
    context.who = who
    return client, server or context.server
end

local function report(context, parsed, server, one_in, figures)
    local words = ("%s of %s in %.1f s written to %s; %s"):format(units.plural(figures.requests, "request"),
        one_in > 1 and "one key in " .. one_in or "all keys", figures.seconds,
        parsed.output == "-" and "standard output" or parsed.output, lost_words(figures))
    if context.json and parsed.output ~= "-" then
        context:out_json("slate/capture/1", { server = server.name, file = parsed.output, requests = figures.requests,
            sample_ratio = 1 / one_in, seconds = figures.seconds, bytes = figures.bytes, skipped = figures.skipped,
            dropped = figures.dropped, is_anonymous = parsed.anonymize or false })
        return
    end
    context:print_note(words)
end

function M.run(context, parsed)
    if not parsed.output then
        return nil, "capture needs a file to write: -o FILE", "usage"
    end
    local one_in = parsed.sample or ONE_IN
    local other, server = must(open_servers(context, parsed))
    local before = dropped(other)
    local writer = must(require("slate.base.packed").create(parsed.output))
    local capture <close> = setmetatable({ writer = writer, bytes = 0, started_s = clock.steady_s() },
        { __index = Capture, __close = function() writer:drop() end })
    -- After any end, even an interrupt, the captured part is a valid trace.
    local ran, followed, why, how = pcall(capture.run, capture, context, server, parsed, one_in)
    if capture.client then
        capture.client:close()
    end
    if not capture.is_begun then
        if not ran then
            error(followed, 0)
        end
        return nil, why, how
    end
    local figures, message, code = capture:finish(before, other)
    other:close()
    if figures then
        report(context, parsed, server, one_in, figures)
    end
    if not ran then
        error(followed, 0)
    elseif not figures then
        return nil, message, code
    elseif not followed then
        return nil, ("the capture ended early: %s"):format(why), how
    end
    return 0
end

return M
