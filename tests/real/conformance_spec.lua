-- SPDX-License-Identifier: BSD-3-Clause
-- The transcripts of tests/proto, which proto_spec.lua feeds to slated, fed to each memcached of this machine: they
-- have memcached's replies. Other replies of older ones are listed (tests/proto/memcached.lua). Packets of the binary
-- protocol likewise, which slated_binary_spec.lua sends to slated.
local transcript = require "support.transcript"
local proto_server = require "support.proto_server"
local replay = require "support.replay"
local binary = require "support.binary"
local server = require "support.server"
local known = require "proto.memcached"

local PACKETS <const> = "tests/fixtures/binary-1.6.45.txt"
local DEADLINE_S <const> = 300 -- only a hang takes that long
local ENDING_SERVERS <const> = 12
local TRIES <const> = 3

local function number_of(version)
    local major, minor, patch = version:match("(%d+)%.(%d+)%.(%d+)")
    return (tonumber(major) * 1000 + tonumber(minor)) * 1000 + tonumber(patch)
end

local function is_before(version, other)
    return number_of(version) < number_of(other)
end

-- The reason why a memcached of this version is not held to the transcript; nil: it is.
local function excuse(name, version)
    local different = known.DIFFERENT[name]
    if known.SLATED[name] then
        return known.SLATED[name]
    elseif different and is_before(version, different.since) then
        return ("line %d is answered %q before %s"):format(different.line, different.says, different.since)
    end
end

describe("memcached", function()
    local scripts = transcript.all("tests/proto")
    local ending = {}

    local function reap(left)
        while #ending > left do
            table.remove(ending, 1):stop()
        end
    end

    local function requests(script)
        local count = 0
        for _, step in ipairs(script.steps) do
            count = count + (step.kind == "send" and 1 or 0)
        end
        return count
    end

    local function play(script)
        reap(ENDING_SERVERS)
        local one = assert(proto_server.start(script.options, script.debug))
        local ok, message = pcall(replay.play, script, one, replay.feeds.whole)
        one:ask_to_end()
        ending[#ending + 1] = one
        return ok, tostring(message)
    end

    -- On a busy machine a memcached may see one packet in two receives, or a second may end between two requests. A
    -- reply that comes once can come.
    local function answers(script)
        local ok, message
        for _ = 1, TRIES do
            ok, message = play(script)
            if ok then
                return true
            end
        end
        return false, message
    end

    after_each(function()
        proto_server.use(nil)
    end)

    teardown(function()
        reap(0)
    end)

    -- The lines of a transcript that are replies, as a set.
    local function reply_lines(script)
        local lines = {}
        for _, step in ipairs(script.steps) do
            lines[tonumber(step.where:match(":(%d+)$"))] = step.kind == "expect" or nil
        end
        return lines
    end

    it("is said to differ in replies that the transcripts have", function()
        local replies = {}
        for _, script in ipairs(scripts) do
            replies[script.name:gsub("%.txt$", "")] = reply_lines(script)
        end
        for name, different in pairs(known.DIFFERENT) do
            assert.truthy(replies[name] and replies[name][different.line], name)
        end
        for name in pairs(known.SLATED) do
            assert.truthy(replies[name], name)
        end
    end)

    it("is there to be held against them", function()
        if not server.memcached() then
            pending("no memcached is installed")
        end
    end)

    -- Sends a claim's packets; returns the replies that differ from the claim's, and the number of packets sent.
    local function ask(one, claim)
        local connection, wrong, sent = assert(one:connect()), {}, 0
        connection:settimeout(DEADLINE_S)
        local client = binary.client(connection)
        for _, step in ipairs(claim.steps) do
            local want, said = table.concat(step.want, "\n"), table.concat(client:ask(step.sent), "\n")
            wrong[#wrong + 1] = said ~= want and ("%s: %s instead of %s"):format(claim.claim, said, want) or nil
            sent = sent + #step.sent
        end
        client:close()
        return wrong, sent
    end

    local function holds_packets()
        local wrong, sent = {}, 0
        for _, claim in ipairs(binary.claims(PACKETS)) do
            reap(ENDING_SERVERS)
            local one = assert(proto_server.start({}))
            local other, count = ask(one, claim)
            one:ask_to_end()
            ending[#ending + 1] = one
            table.move(other, 1, #other, #wrong + 1, wrong)
            sent = sent + count
        end
        return table.concat(wrong, "\n"), sent
    end

    it("of the version that the packets are of answers them as slated does (slated_binary_spec)", function()
        for _, peer in ipairs(server.all()) do
            if not peer.is_slated and peer.name:find(known.NEWEST, 1, true) then
                proto_server.use(peer.binary)
                local wrong, sent = holds_packets()
                assert.equal("", wrong)
                print(("# memcached %s: %d packets of the binary protocol"):format(known.NEWEST, sent))
                return
            end
        end
        pending("there is no memcached " .. known.NEWEST)
    end)

    for _, peer in ipairs(server.all()) do
        local version = not peer.is_slated and peer.name:match("%d+%.%d+%.%d+")
        if version then
            it(("%s answers as the transcripts say"):format(version), function()
                if is_before(known.NEWEST, version) then
                    pending(("memcached %s is newer than %s, which the transcripts were held against"):format(version,
                        known.NEWEST))
                    return
                end
                proto_server.use(peer.binary)
                local wrong, played, sent = {}, 0, 0
                for _, script in ipairs(scripts) do
                    local name = script.name:gsub("%.txt$", "")
                    if not excuse(name, version) and (not script.debug or proto_server.available(true)) then
                        local ok, message = answers(script)
                        wrong[#wrong + 1] = not ok and message or nil
                        played, sent = played + 1, sent + requests(script)
                    end
                end
                print(("# memcached %s: %d requests of %d transcripts"):format(version, sent, played))
                assert.equal("", table.concat(wrong, "\n"))
                assert.is_true(played > #scripts / 2)
            end)
        end
    end
end)
