-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl explain [TERM]: the meaning and source of a figure or setting, and what to do about it.
local M = {}

local wrapped <const> = require("slate.base.table").wrap

function M.declare(command)
    command:argument("term", "A name as slatectl, slatetop or the server writes it. Default: list all names")
        :args("*"):argname("TERM")
end

local function out_entry(context, entry)
    local names = #entry.also > 0 and "  also: " .. table.concat(entry.also, ", ") or ""
    context:out(wrapped(("%s (%s)%s"):format(entry.term, entry.unit, names), 0), "\n", wrapped(entry.meaning, 2), "\n",
        wrapped("source: " .. entry.source, 2), "\n")
    if entry.formula then
        context:out(wrapped("formula: " .. entry.formula, 2), "\n")
    end
    context:out(wrapped("what to do: " .. entry["do"], 2), "\n")
end

local function out_names(context, names)
    return context:answer("slate/explain/1", { terms = names }, function()
        context:out(wrapped(table.concat(names, ", "), 0), "\n")
    end)
end

function M.run(context, parsed)
    local explain = require "slate.facts.explain"
    local name = table.concat(parsed.term, " ")
    if name == "" then
        local names, problem = explain.list()
        if not names then
            return nil, problem, "missing"
        end
        return out_names(context, names)
    end
    local entries, problem = explain.find(name)
    if not entries then
        return nil, problem, "missing"
    elseif #entries == 0 then
        local near = explain.suggest(name)
        return nil, ("nothing explains '%s'%s"):format(name, #near > 0 and "; is it " .. table.concat(near, ", ") .. "?"
            or "; slatectl explain lists all names"), "no"
    end
    if context.json then
        context:out_json("slate/explain/1", { entries = entries })
        return 0
    end
    for i, entry in ipairs(entries) do
        context:out(i > 1 and "\n" or "")
        out_entry(context, entry)
    end
    return 0
end

return M
