#!/usr/bin/env lua5.4
-- SPDX-License-Identifier: BSD-3-Clause
--- How many tests of other projects' suites pass on slated and on memcached. `suite` lists the needs of each.
--
--     tests/clients/suites.lua dalli=FOLDER php-memcached=FOLDER rails=FOLDER symfony-cache=FOLDER
--
-- Each line names a suite and both counts. Exit 1 when slated passes fewer than memcached, or a suite did not run.
-- The suites' output stays in build/clients/NAME.slated and build/clients/NAME.memcached.
package.path = "tests/bench/?.lua;tests/spec/?.lua;" .. package.path
local bench_server = require("server")
local support = require("support.server")

local M = {}

local LOGS <const> = "build/clients"
-- This suite starts servers itself: never as root, and on fixed ports, so that two runs would meet.
local STARTS_SERVERS <const> = "dalli"

-- Starts a suite on a server of its own. Returns a function that waits for the suite and returns the number of passed
-- tests, or nil when the suite did not end.
local function begin(suite, folder, kind, program)
    local server = assert(bench_server.start(program, { arguments = { "-m", "64", "-t", "2" } }))
    local path = assert(bench_server.capture({ "mktemp", "-d" })):match("%S+")
    local log = ("%s/%s.%s"):format(LOGS, suite, kind)
    local user = suite == STARTS_SERVERS and bench_server.capture({ "id", "-u" }) == "0\n"
        and "setpriv --reuid=65534 --regid=65534 --clear-groups" or ""
    assert(os.execute(("mkdir -p %s && chmod 755 %s && ln -s $(realpath %s) %s/memcached"):format(
        LOGS, path, bench_server.quote(program), path)))
    local pipe = assert(io.popen(("PATH=%s:$PATH %s tests/clients/suite %s %s %d >%s 2>&1; tail -n 1 %s"):format(
        path, user, suite, bench_server.quote(folder), server.port, log, log)))
    return function()
        local passed = pipe:read("a"):match("^passed (%d+)\n$")
        pipe:close()
        server:stop()
        os.execute("rm -rf " .. path)
        return math.tointeger(passed)
    end
end

--- Runs a suite on slated and on memcached, side by side where the suite allows that.
-- @param suite a name of `tests/clients/suite`
-- @param folder the suite's checkout
-- @return the numbers of tests that passed on slated and on memcached; nil for a suite that did not run to its end
function M.compare(suite, folder)
    local peer = assert(support.memcached(), "there is no memcached to compare with")
    local ours = begin(suite, folder, "slated", support.slated())
    if suite == STARTS_SERVERS then
        return ours(), begin(suite, folder, "memcached", peer)()
    end
    local theirs = begin(suite, folder, "memcached", peer)
    return ours(), theirs()
end

-- Run as a program.
if arg and (arg[0] or ""):find("suites.lua", 1, true) then
    local failed = #arg == 0
    for _, word in ipairs(arg) do
        local suite, folder = word:match("^([%w-]+)=(.+)$")
        assert(suite, word .. " is not NAME=FOLDER")
        local ours, theirs = M.compare(suite, folder)
        print(("%-14s slated %s  memcached %s"):format(suite, ours or "did not run", theirs or "did not run"))
        failed = failed or not ours or not theirs or ours < theirs
    end
    os.exit(not failed)
end

return M
