-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl autoscale --least M --most M --price-per-gb P --price-per-miss Q: a live server's limit follows the size
--- that costs least.
local money = require "slate.judge.money"
local clock = require "slate.base.clock"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local INTERVAL_S <const>, LEAST_INTERVAL_S <const> = 60, 0.1
local MIB <const> = 1 << 20
local SUFFIXES <const> = { k = 1 << 10, m = MIB, g = 1 << 30 }

-- A size as the server's options take it: a plain number is in MiB. Limits are whole MiB.
local function size(text)
    local number, suffix = text:lower():match("^([%d.]+)([kmg]?)b?$")
    local bytes = tonumber(number) and tonumber(number) * (SUFFIXES[suffix] or MIB)
    if bytes and bytes >= 8 * MIB and bytes < 2 ^ 53 then
        return math.floor(bytes / MIB) * MIB
    end
    return nil, ("'%s' is not a size: write 512m or 4g, 8m at least"):format(text)
end

local function share(text)
    local percent = tonumber((text:gsub("%%$", "")))
    if percent and percent > 0 and percent <= 100 then
        return percent / 100
    end
    return nil, ("'%s' is not a share in per cent above 0"):format(text)
end

local function points(text)
    local number = tonumber(text)
    if number and number >= 0 and number <= 100 then
        return number
    end
    return nil, ("'%s' is not a number of points from 0 to 100"):format(text)
end

function M.declare(command)
    local price, defaults = require("slate.judge.money").parse_price, money.SCALE_DEFAULTS
    command:option("--least", "The lower bound of the limit, such as 256m."):argname("SIZE"):convert(size)
    command:option("--most", "The upper bound of the limit, such as 4g."):argname("SIZE"):convert(size)
    command:option("--price-per-gb", "The price of a GiB of memory a month."):argname("PRICE"):convert(price)
    command:option("--price-per-miss", "The price of one miss, such as 2e-6."):argname("PRICE"):convert(price)
    command:flag("--apply", "Change the limit. Without --apply decisions are printed, and nothing is sent.")
    command:option("--step", ("The largest step, as a share of the limit. Default: %d%%"):format(
        defaults.step_ratio * 100)):argname("PERCENT"):convert(share)
    command:option("--cool-down", "The least time between two steps. Default: 5m"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--fall", ("Go back when hits fall by more points after a smaller size. Default: %g"):format(
        defaults.fall_points)):argname("POINTS"):convert(points)
    command:option("--interval", "Time between two decisions. Default: 1m"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--count", "End after N decisions."):argname("N")
        :convert(units.whole(1))
    command:option("--for", "End after this long."):argname("TIME"):convert(units.parse_duration):target("for_s")
end

local function wrong(parsed)
    for _, name in ipairs({ "least", "most", "price_per_gb", "price_per_miss" }) do
        if not parsed[name] then
            return ("autoscale needs --%s: give --least, --most, --price-per-gb and --price-per-miss"):format(
                (name:gsub("_", "-")))
        end
    end
    if parsed.least > parsed.most then
        return "--least is more than --most"
    end
end

local function told(decision)
    local change = decision.action == "stay" and "stays" or ("%s %s -> %s"):format(decision.action == "back" and "back:"
        or "limit", units.bytes(decision.from), units.bytes(decision.to))
    return ("%s: %s"):format(change, decision.why)
end

local Follower = {}
Follower.__index = Follower

-- What the decision goes by.
function Follower:look()
    local now = must(self.context:snapshot(self.client))
    local curve = must(require("slate.facts.foresight").curve(self.client))
    local before = self.since or self.seen
    local lately = self.seen and require("slate.act.guarded").overview_between(self.seen, now)
    local since = before and require("slate.act.guarded").overview_between(before, now)
    self.seen = now
    return { time_s = clock.steady_s(), curve = curve, limit_bytes = now.general.limit_maxbytes,
        reads_per_s = lately and lately.get_per_s or 0, hit_ratio = since and since.hit_ratio,
        reads = before and now.general.cmd_get and before.general.cmd_get
            and now.general.cmd_get - before.general.cmd_get or nil }
end

local function tell(context, decision, words)
    if context.json then
        context:out_json("slate/autoscale/1", { server = context.server.name, time_s = clock.time_s(),
            action = decision.action, from = decision.from, to = decision.to, why = decision.why, now = decision.now,
            target = decision.target, outcome = words, dry_run = not decision.is_applied })
        return
    end
    context:out(os.date("%H:%M:%S"), "  ", told(decision), words and "; " .. words or "", "\n")
    context:flush()
end

-- Sets the limit, or takes the last step back. Returns what came of it.
function Follower:carry_out(decision, seen)
    local steps = require "slate.act.steps"
    if decision.action == "back" then
        local words = must(steps.take_back(self.context, self.client, decision.entry))
        self.since = nil
        return words
    end
    local words, id, entry = must(steps.carry_out(self.context, self.client,
        { kind = "set", name = "maxbytes", value = ("%d"):format(decision.to) }))
    self.scale:stepped(decision, clock.steady_s(), seen.hit_ratio, entry)
    self.since = self.seen -- hits are counted from here on
    return id and ("slatectl undo %d"):format(id) or words
end

function Follower:round(parsed)
    local seen = self:look()
    local decision = self.scale:decide(seen)
    local words
    self.since = not decision.is_changed_by_others and self.since or nil
    if decision.action ~= "stay" and parsed.apply then
        decision.is_applied = true
        words = self:carry_out(decision, seen)
    end
    tell(self.context, decision, words)
end

function M.run(context, parsed)
    local problem = wrong(parsed)
    if problem then
        return nil, problem, "usage"
    end
    local client = must(context:open())
    local defaults = money.SCALE_DEFAULTS
    local follower = setmetatable({ context = context, client = client, scale = money.scale({
        least_bytes = parsed.least, most_bytes = parsed.most, price_per_gb = parsed.price_per_gb,
        price_per_miss = parsed.price_per_miss, step_ratio = parsed.step or defaults.step_ratio,
        cool_down_s = parsed.cool_down or defaults.cool_down_s, fall_points = parsed.fall or defaults.fall_points,
    }) }, Follower)
    follower:look() -- there are rates from the second look on
    if not parsed.apply then
        context:say("a dry run: nothing is sent; --apply changes the limit")
    end
    local interval_s = math.max(parsed.interval or INTERVAL_S, LEAST_INTERVAL_S)
    local until_s, count = clock.steady_s() + (parsed.for_s or math.huge), 0
    while count < (parsed.count or math.huge) and clock.steady_s() + interval_s <= until_s + 1e-6 do
        clock.sleep(interval_s)
        follower:round(parsed)
        count = count + 1
    end
    client:close()
    return 0
end

return M
