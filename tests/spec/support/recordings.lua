-- SPDX-License-Identifier: BSD-3-Clause
--- Servers under load, recorded once a second for 90 s (tests/fixtures/recordings/README.md says how), and the findings
--- that each must have.
local record = require "slate.facts.record"

local M = {}

local FOLDER <const> = "tests/fixtures/recordings/"

--- A finding is due so many seconds after its fault begins.
M.FOUND_WITHIN_S = 5

--- name; finds = { name of the finding, since_s: when its fault begins, by the load }, absent for a steady server;
--- also: names of other true warnings.
M.CASES = {
    { name = "demo", finds = { name = "starving", since_s = 0 } },
    { name = "calcified", finds = { name = "starving", since_s = 0 } },
    { name = "shift1618", finds = { name = "starving", since_s = 40 }, also = { held = true, hits_fell = true } },
    { name = "heals", finds = { name = "starving", since_s = 0 } },
    { name = "falls", finds = { name = "hits_fell", since_s = 45 } },
    { name = "stops", finds = { name = "traffic", since_s = 46 } },
    { name = "restarts", finds = { name = "restart", since_s = 43 } },
    { name = "scan" }, { name = "etc-gives" }, { name = "etc-off" }, { name = "etc-utility" },
    { name = "etc-stock16", also = { held = true } }, { name = "uniform" }, { name = "twitter-off" },
    { name = "twoclass" }, { name = "usr-stock" },
}

--- The file of a recording.
function M.path(name) return FOLDER .. name .. ".jsonl.gz" end

local function open(name) return assert(io.popen("gzip -dc " .. M.path(name))) end

--- The snapshots of a recording.
function M.load(name)
    local pipe = open(name)
    local list = assert(record.read(pipe, name))
    pipe:close()
    return list
end

--- Writes a recording to a file.
function M.copy(name, path)
    local pipe, file = open(name), assert(io.open(path, "w"))
    file:write(pipe:read("a"))
    file:close()
    pipe:close()
end

return M
