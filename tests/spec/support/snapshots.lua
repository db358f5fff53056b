-- SPDX-License-Identifier: BSD-3-Clause
--- Snapshots for specs of pure functions.
local snapshot = require "slate.facts.snapshot"

local M = {}

--- The program.
M.SLATETOP = (os.getenv("SLATE_BUILD") or "build") .. "/bin/slatetop"

--- A snapshot at time_s. classes: map from id to fields; general: fields beside pid and uptime.
function M.make(time_s, classes, general, settings)
    local list = {}
    for id, fields in pairs(classes) do
        local class = { id = id }
        for name, value in pairs(fields) do class[name] = value end
        list[#list + 1] = class
    end
    table.sort(list, function(a, b) return a.id < b.id end)
    local all = { pid = 1, uptime = time_s // 1 }
    for name, value in pairs(general or {}) do all[name] = value end
    return {
        schema = "slate/snapshot/1", time_s = time_s, server = "here", version = "1.6.45", general = all,
        settings = settings, classes = list, totals = {},
    }
end

--- The fields of a full class of four pages, except the given ones.
function M.class(fields)
    local all = {
        chunk_size = 1000, chunks_per_page = 1000, total_pages = 4, total_chunks = 4000, used_chunks = 4000,
        free_chunks = 0, number = 4000, age = 600, evicted = 0, outofmemory = 0, cmd_set = 0, get_hits = 0,
    }
    for name, value in pairs(fields) do all[name] = value end
    return all
end

--- The fields of a class of so many full pages, of a thousand items each, that has evicted so many; more: others.
function M.full(pages, evicted, more)
    local fields = {
        chunk_size = 1000, chunks_per_page = 1000, total_pages = pages, total_chunks = pages * 1000, free_chunks = 0,
        used_chunks = pages * 1000, number = pages * 1000, age = 100, evicted = evicted or 0, outofmemory = 0,
        get_hits = 0, cmd_set = 0,
    }
    for name, value in pairs(more or {}) do fields[name] = value end
    return fields
end

--- An observer (of slate.judge.view) that saw these snapshots.
function M.seen(list)
    local one = require("slate.judge.view").observer()
    for _, now in ipairs(list) do one:observe(now) end
    return one
end

--- slatetop's output at the end of a recording of these snapshots. environment: of the command, "" by default.
function M.in_slatetop(list, environment)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    for _, one in ipairs(list) do file:write(snapshot.encode(one), "\n") end
    file:close()
    local pipe = assert(io.popen(("%s %s -b --replay %s 2>&1"):format(environment or "", M.SLATETOP, path)))
    local text = pipe:read("a")
    pipe:close()
    os.remove(path)
    return text
end

return M
