-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl lru tune|mode|temp-ttl: the segmented LRU's settings, by memcached's own words for them.
local must = require("slate.base.failure").must

local M = {}

local USES <const> = {
    tune = { 4, "HOT% WARM% HOT-FACTOR WARM-FACTOR", { "hot_lru_pct", "warm_lru_pct", "hot_max_factor",
        "warm_max_factor" } },
    mode = { 1, "flat or segmented", { "lru_segmented" } },
    ["temp-ttl"] = { 1, "SECONDS, -1 for none", { "temporary_ttl" } },
}
local MODES <const> = { flat = "no", segmented = "yes" }
-- On slated these are eviction policies, of which there are more: only so is there a way back to the others.
local POLICIES <const> = { flat = "lru", segmented = "slru" }

function M.declare(command)
    command:argument("verb", "tune, mode or temp-ttl."):choices({ "tune", "mode", "temp-ttl" }):argname("VERB")
    command:argument("values", "tune: " .. USES.tune[2] .. "; mode: " .. USES.mode[2] .. "; temp-ttl: "
        .. USES["temp-ttl"][2] .. "."):args("+"):argname("VALUE")
    command:flag("--dry-run", "Check and show what would be sent; send nothing.")
end

function M.run(context, parsed)
    local use = USES[parsed.verb]
    if #parsed.values ~= use[1] then
        return nil, ("lru %s wants %s"):format(parsed.verb, use[2]), "usage"
    end
    if parsed.verb == "mode" and not MODES[parsed.values[1]] then
        return nil, "lru mode wants flat or segmented", "usage"
    end
    local client, who = must(context:open())
    local steps = {}
    for i, name in ipairs(use[3]) do
        steps[i] = { name = name, value = parsed.values[i] }
    end
    if parsed.verb == "mode" then
        local mode = parsed.values[1]
        steps[1] = who.slated and { name = "policy", value = POLICIES[mode] }
            or { name = "lru_segmented", value = MODES[mode] }
    end
    return require("slate.commands.set").apply(context, client, steps, parsed.dry_run)
end

return M
