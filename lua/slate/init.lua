-- SPDX-License-Identifier: BSD-3-Clause
--- The public modules of the library, each loaded when a script first names it: `local slate = require "slate"`.
--
-- Their functions keep their names, arguments and results from version to version; new ones may come. All other modules
-- are internal: they change without notice. slate(3) shows the use of each.

-- client    connections to a server, its commands and items
-- clock     time and sleeping
-- snapshot  the figures of a server at one time, and rates between two
-- doctor    findings: what is wrong with a server
-- move      page moves: planned, carried out, verified
-- policy    policies in Lua: loaded, run over snapshots
-- simulate  traces played to caches of other policies and sizes
-- chart     figures, drawn as pictures or text
local MODULES <const> = {
    client = "slate.wire.client", clock = "slate.base.clock", snapshot = "slate.facts.snapshot",
    doctor = "slate.judge.doctor", move = "slate.act.move", policy = "slate.policy.file",
    simulate = "slate.policy.simulate", chart = "slate.chart.draw",
}

return setmetatable({}, {
    __index = function(slate, name)
        if not MODULES[name] then
            error(("slate has no public module '%s': see slate(3)"):format(tostring(name)), 2)
        end
        slate[name] = require(MODULES[name])
        return slate[name]
    end,
})
