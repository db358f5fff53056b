-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet down: ends what `fleet up` has started.
local must = require("slate.base.failure").must

local M = {}

function M.declare(command)
    command:option("--folder", "The fleet's folder. Default: that of fleet up"):argname("PATH")
end

function M.run(context, parsed)
    local folder = must(require("slate.commands.fleet_up").folder_of(parsed))
    local processes = must(require("slate.fleet.local_fleet").down(folder))
    local ended = 0
    for _, one in ipairs(processes) do
        ended = ended + (one.running and 1 or 0)
    end
    if context.json then
        context:out_json("slate/fleet-down/1", { folder = folder, ended = ended })
    else
        context:out(require("slate.base.units").plural(ended, "process", "processes"), " ended\n")
    end
    return 0
end

return M
