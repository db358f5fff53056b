-- SPDX-License-Identifier: BSD-3-Clause
-- Feeds every transcript of tests/proto to a fresh server, once whole, once byte by byte, and whole to the
-- other stores, and compares the replies exactly. PROTO=pattern runs only the transcripts whose name matches.

package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local transcript = require "support.transcript"
local proto_server = require "support.proto_server"
local replay = require "support.replay"
require "support.world"

local FOLDER <const> = "tests/proto"
local ENDING_SERVERS <const> = 12
local OTHER_STORES <const> = { "heap", "blocks" }

-- A server behind something of tests/faults, without a debug build: it is fed whole. One cuts what it receives itself.
local BEHIND = proto_server.program():match("slated%-(%a+)$")

local function feeds_of(script)
    if BEHIND and script.debug or BEHIND == "dribble" and script.whole then
        return {}
    end
    return (BEHIND or script.whole) and { "whole" } or { "whole", "byte by byte" }
end

-- Servers that have played their transcript. Several end at a time: a memcached takes up to a second for it.
local ending, complaints = {}, {}

local function complaint(name, status, said)
    return ("%s: the server ended with status %s: %s"):format(name, status, said)
end

-- Ends them, and notes which did not end cleanly.
local function reap()
    for _, one in ipairs(ending) do
        one.server:ask_to_end()
    end
    for _, one in ipairs(ending) do
        local status, said = one.server:stop()
        if status ~= 0 then
            complaints[#complaints + 1] = complaint(one.name, status, said)
        end
    end
    ending = {}
end

local function check(script, feed, store)
    if #ending == ENDING_SERVERS then
        reap()
    end
    local options = table.move(script.options, 1, #script.options, 2, { "--store=" .. store })
    local server = assert(proto_server.start(proto_server.is_slated() and options or script.options, script.debug))
    local ok, message = pcall(replay.play, script, server, feed)
    if not ok then
        local status, said = server:stop()
        error(status == 0 and message or message .. "\n" .. complaint(script.name, status, said), 0)
    end
    ending[#ending + 1] = { server = server, name = script.name }
end

describe("transcript", function()
    it("has a server to be fed to", function()
        assert(proto_server.available(), proto_server.program() .. " is not there: run make first")
    end)

    for _, script in ipairs(proto_server.available() and transcript.all(FOLDER, os.getenv("PROTO")) or {}) do
        local name = script.name
        for _, how in ipairs(feeds_of(script)) do
            it(("%s, fed %s"):format(name, how), function()
                if script.debug and not proto_server.available(true) then
                    pending("needs the debug build: make DEBUG=1")
                    return
                end
                check(script, replay.feeds[how], "slab")
            end)
        end
        for _, store in ipairs((script.slab or #feeds_of(script) == 0) and {} or OTHER_STORES) do
            it(("%s, fed whole to the %s store"):format(name, store), function()
                if (script.debug and not proto_server.available(true)) or not proto_server.is_slated() then
                    pending("needs slated, and of some transcripts its debug build: make DEBUG=1")
                    return
                end
                check(script, replay.feeds.whole, store)
            end)
        end
    end

    it("servers all end cleanly", function()
        reap()
        assert.equal("", table.concat(complaints, "\n"))
    end)
end)
