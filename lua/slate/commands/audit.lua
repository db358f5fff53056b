-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl audit: the changes on record, with what came of them, and how good predictions were.
local audit = require "slate.facts.audit"
local steps = require "slate.act.steps"

local M = {}

local DEFAULT_LIST <const> = 20

function M.declare(command)
    command:option("--last", ("Only the last N changes, of all servers. Default: %d"):format(DEFAULT_LIST)):argname("N")
        :convert(function(text) return require("slate.base.units").parse_whole(text, 1) end)
    command:flag("--accuracy", "How far predictions of moves were off, by all changes on record.")
end

local function what_of(entry)
    if entry.what == "geometry" then
        return entry.is
    end
    return entry.what == "set" and ("%s: %s -> %s"):format(entry.name, entry.was, entry.is)
        or steps.words({ kind = "move", src = entry.src, dst = entry.dst, pages = entry.pages })
end

local function list(context, entries, most)
    local shown = table.move(entries, math.max(1, #entries - most + 1), #entries, 1, {})
    if context.json then
        context:out_json("slate/changes/1", { changes = require("slate.base.json").array(shown) })
        return 0
    end
    local rows = {}
    for i, entry in ipairs(shown) do
        rows[i] = { entry.id, os.date("%Y-%m-%d %H:%M:%S", math.floor(entry.time_s)), entry.server,
            what_of(entry) .. (entry.undoes and (" (undoes %d)"):format(entry.undoes) or "")
                .. (entry.outcome and ": " .. entry.outcome or "") }
    end
    context:out(#rows == 0 and "no change is on record\n" or context:table({ { title = "ID" },
        { title = "TIME", left = true }, { title = "SERVER", left = true }, { title = "CHANGE", left = true } }, rows))
    return 0
end

local function accuracy(context, entries)
    local found = audit.accuracy(entries)
    if context.json then
        context:out_json("slate/accuracy/1", found)
    elseif found.predictions == 0 then
        context:out("no prediction is on record: slatectl move ... --verdict makes one\n")
    else
        context:out(("%s; half were off by %.1f points of hits or less, nine of ten by %.1f; %d within their band\n")
            :format(require("slate.base.units").plural(found.predictions, "prediction"), found.median * 100,
                found.p90 * 100, found.within))
    end
    return 0
end

function M.run(context, parsed)
    local entries = audit.read(audit.path())
    if parsed.accuracy then
        return accuracy(context, entries)
    end
    return list(context, entries, parsed.last or DEFAULT_LIST)
end

return M
