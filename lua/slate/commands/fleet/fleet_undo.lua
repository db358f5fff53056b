-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet undo [ID]: undoes a change to a fleet, on all of its servers.
local audit = require "slate.facts.audit"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("id", "The number of a change to a fleet. Default: the last one that is not taken back whole")
        :args("?"):argname("ID"):convert(units.whole(1))
    command:flag("--force", "Take back also what others changed since: a setting, pages that they moved on.")
    command:flag("--dry-run", "Show what would be done; change nothing.")
end

--- Exits with 0 if all changes are undone, else with 1.
function M.run(context, parsed)
    local entries, id = audit.fleet_change(must(audit.read(audit.path())), parsed.id)
    if not entries then
        return nil, id, "no"
    end
    local results, failed = require("slate.fleet.rolling").take_back(entries, function(name)
        return context:of(assert(units.parse_server(name)))
    end, parsed.force, parsed.dry_run)
    if context.json then
        context:out_json("slate/fleet-undo/1", { fleet = id, dry_run = parsed.dry_run or false, failed = failed,
            changes = results })
        return failed > 0 and 1 or 0
    end
    for _, result in ipairs(results) do
        context:out(("%s, change %d: %s: %s\n"):format(result.server, result.id, result.state, result.words))
    end
    context:out(parsed.dry_run and "nothing was sent\n" or failed > 0
        and ("%s of change %d to the fleet could not be taken back\n"):format(units.plural(failed, "step"), id)
        or ("change %d to the fleet is taken back\n"):format(id))
    return failed > 0 and 1 or 0
end

return M
