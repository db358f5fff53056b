-- SPDX-License-Identifier: BSD-3-Clause
-- Feeds every transcript of tests/proto to a fresh server and compares the replies exactly. test_session_transcripts
-- plays those that need no socket to a session, in pieces and to every store and index; the others are fed here byte by
-- byte, too. PROTO=pattern runs only the transcripts whose name matches.
local transcript = require "support.transcript"
local proto_server = require "support.proto_server"
local replay = require "support.replay"
require "support.world"

local FOLDER <const> = "tests/proto"
local ENDING_SERVERS <const> = 12

-- A server run by a program of tests/faults, without a debug build. Transcripts are fed whole; one of these programs
-- cuts received bytes itself.
local BEHIND <const> = proto_server.program():match("slated%-(%a+)$")

local function feeds_of(script)
    if BEHIND and (script.debug or BEHIND == "dribble" and script.whole) then
        return {}
    end
    local in_pieces = (script.net or script.debug or not proto_server.is_slated()) and not script.whole and not BEHIND
    return { "whole", in_pieces and "byte by byte" or nil }
end

-- Servers that have played their transcript. Several end at a time, because a memcached takes up to a second.
local ending, complaints = {}, {}

local function complaint(name, status, said)
    return ("%s: the server ended with status %s: %s"):format(name, status, said)
end

-- Ends them, and notes which did not end cleanly.
local function reap()
    for _, one in ipairs(ending) do one.server:ask_to_end() end
    for _, one in ipairs(ending) do
        local status, said = one.server:stop()
        if status ~= 0 then
            complaints[#complaints + 1] = complaint(one.name, status, said)
        end
    end
    ending = {}
end

local function check(script, feed)
    if #ending == ENDING_SERVERS then
        reap()
    end
    local server = assert(proto_server.start(script.options, script.debug))
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
        for _, how in ipairs(feeds_of(script)) do
            it(("%s, fed %s"):format(script.name, how), function()
                if script.debug and not proto_server.available(true) then
                    pending("needs the debug build: make DEBUG=1")
                    return
                end
                check(script, replay.feeds[how])
            end)
        end
    end

    it("servers all end cleanly", function()
        reap()
        assert.equal("", table.concat(complaints, "\n"))
    end)
end)
