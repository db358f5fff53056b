-- SPDX-License-Identifier: BSD-3-Clause
-- The transcript format and its player: accepted and refused files, and that a wrong server fails.
local transcript = require "support.transcript"
local proto_server = require "support.proto_server"
local replay = require "support.replay"

local function steps(text) return transcript.parse(text, "t").steps end

local function refusal(text)
    local ok, message = pcall(transcript.parse, text, "t")
    assert.is_false(ok)
    return message
end

-- Feeds `replies` to a matcher that expects the "< " lines of `text`.
local function match(text, replies, bindings)
    local matcher = transcript.matcher(bindings or {})
    for _, step in ipairs(steps(text)) do matcher:expect(step.pieces) end
    local complete
    local ok, message = pcall(function()
        for _, reply in ipairs(replies) do complete = matcher:feed(reply) end
    end)
    return ok and complete, message
end

describe("transcript format", function()
    it("knows escapes and repeats", function()
        local step = steps([[> a\r\n\t\\\{\<\x00\xff{b*3}{\x20*2}c]])[1]
        assert.equal("send", step.kind)
        assert.equal("a\r\n\t\\{<\0\255bbb  c", step.pieces[1].bytes)
    end)

    it("refuses a text that is no transcript, and names the line", function()
        for text, message in pairs({ ["# text\nfoo"] = "^t:2: not a transcript line",
            [ [[> \q]] ] = "^t:1: unknown escape", [ [[> \x1]] ] = "^t:1: unknown escape",
            ["> {a}"] = "^t:1: a repeat is written",
            ["> {a*3"] = "^t:1: a repeat is written", ["> <A>"] = "^t:1: a placeholder is written",
            ["! fast"] = "^t:1: unknown header", ["> x\n! debug"] = "^t:2: not a transcript line",
            ["= later"] = "^t:1: not a transcript line" }) do
            assert.matches(message, refusal(text))
        end
    end)
end)

describe("transcript matcher", function()
    it("accepts the lines' bytes in any pieces, and no others", function()
        for _, case in ipairs({
            { [[< STORED\r\n]], { "STORED\r\n" }, true }, { [[< STORED\r\n]], { "ST", "ORED", "\r", "\n" }, true },
            { [[< STORED\r\n]], { "STORED\r" }, false },
            { [[< <a> <b^a>\r\n]], { "9 10\r\n" }, true }, -- a later number is above an earlier one
            { [[< <a> <b^a>\r\n]], { "18446744073709551615 18446744073709551616\r\n" }, true },
            { [[< <a> <b^a>\r\n]], { "10 10\r\n" }, false }, { [[< <a> <b^a>\r\n]], { "10 9\r\n" }, false },
            { [[< <num> <num> <line>\r\n]], { "1 -2 some text\r\n" }, true },
            { [[< <num>\r\n]], { "x\r\n" }, false }, { [[< <line>\r\n]], { "\r\n" }, false },
        }) do
            assert.equal(case[3], match(case[1], case[2]), case[1])
        end
    end)

    it("reports the line of the first difference", function()
        local ok, message = match("< STORED\\r\\n\n< END\\r\\n", { "STORED\r\nENDE\r\n" })
        assert.is_false(ok)
        assert.matches("^t:2: expected  END", message)
    end)

    it("binds a number once and requires the same afterwards", function()
        local bindings = {}
        assert.is_true(match([[< c<cas> c<cas>\r\n]], { "c17 c17\r\n" }, bindings))
        assert.equal("17", bindings.cas)
        assert.is_false(match([[< c<cas> c<cas>\r\n]], { "c17 c18\r\n" }))
        assert.is_false(match([[< c<cas>\r\n]], { "cx\r\n" }))
    end)
end)

describe("transcript player", function()
    local server

    setup(function() server = assert(proto_server.start({})) end)
    teardown(function() server:stop() end)

    local function play(text, feed)
        return pcall(replay.play, transcript.parse(text, "t"), server, replay.feeds[feed or "whole"])
    end

    it("passes a server that answers as the transcript says, and no other, fed whole and byte by byte", function()
        assert.is_true(play("> version\\r\\n\n< VERSION <line>\\r\\n\n> quit\\r\\n\n= close"))
        for _, feed in ipairs({ "whole", "byte by byte" }) do
            for text, wanted in pairs({ ["> foo\\r\\n\n< OK\\r\\n"] = "^t:2: expected  OK", -- another answer
                ["> version\\r\\n"] = "^t: end: expected  MN",
                ["> quit\\r\\n\n"] = "connection closed before t: end" }) do
                local ok, message = play(text, feed)
                assert.is_false(ok)
                assert.matches(wanted, message)
            end
        end
    end)
end)
