-- SPDX-License-Identifier: BSD-3-Clause
--- Snapshots for specs of pure functions.
local M = {}

--- A snapshot at time_s. classes: map from id to fields; general: fields beside pid and uptime.
function M.make(time_s, classes, general, settings)
    local list = {}
    for id, fields in pairs(classes) do
        local class = { id = id }
        for name, value in pairs(fields) do
            class[name] = value
        end
        list[#list + 1] = class
    end
    table.sort(list, function(a, b) return a.id < b.id end)
    local all = { pid = 1, uptime = time_s // 1 }
    for name, value in pairs(general or {}) do
        all[name] = value
    end
    return {
        schema = "slate/snapshot/1", time_s = time_s, server = "here", version = "1.6.45", general = all,
        settings = settings, classes = list, totals = {},
    }
end

return M
