-- SPDX-License-Identifier: BSD-3-Clause
-- The replies of text commands that slate-protocol(7) lists as different from memcached 1.6.45, and the words of the
-- command line that slated(8) lists, from both programs: the lists are true. Commands with the same replies are in
-- tests/proto.
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"
require "support.world"

local PEER <const> = "build/peer/memcached"
local LONG_KEY <const> = ("k"):rep(251)

-- The request; the beginning of slated's first line, and memcached's.
local DIFFERENT <const> = {
    { "cache_memlimit 900000000", "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust", "OK" },
    { "slabs reassign 200 1 5", "BADCLASS invalid src or dst class id", "ERROR" },
    { "slabs reassign 0 1", "OK", "NOSPARE source class has no spare pages" },
    { "slabs automove ratio", "OK", "ERROR" },
    { "slabs automove nosuch 5", "CLIENT_ERROR automove wants ", "CLIENT_ERROR bad command line format" },
    { "slabs automove ratio 0", "CLIENT_ERROR automove ratio must be from 0.01 to 1", "OK" },
    { "extstore item_size 5", "ERROR", "OK" },
    { "config get maxconns", "CONFIG maxconns 1024 runtime", "ERROR" },
    { " stats reset", "RESET", "ERROR" },
    { "flush_all -", "CLIENT_ERROR invalid exptime argument", "OK" },
    { "lru temp_ttl -", "ERROR", "OK" },
    { "get absent\r\nget " .. LONG_KEY, "END", "CLIENT_ERROR bad command line format" },
}

local function answers(binary, column)
    local one = server.start({ binary = binary })
    finally(function() one:stop() end)
    for _, case in ipairs(DIFFERENT) do
        local connection = wire.connect(one.address)
        connection:settimeout(patience.DEADLINE_S)
        local said = wire.ask(connection, case[1])
        assert.equal(case[column], said:sub(1, #case[column]), case[1])
        connection:close()
    end
end

describe("replies other than those of memcached 1.6.45", function()
    it("is answered so by slated", function()
        answers(nil, 2)
    end)

    it("is answered as listed by memcached", function()
        if server.memcached() ~= PEER then
            pending("memcached 1.6.45 is not built (tests/bench/peer builds it)")
            return
        end
        answers(PEER, 3)
    end)
end)

-- The list of slated(8): words with which memcached serves, and the value that memcached takes for the given one.
local WORDS <const> = {
    { "-m", "64x", maxbytes = "67108864" }, { "-t", "2.5", num_threads = "2" }, { "-c", "400k", maxconns = "400" },
    { "-I", "524288x", item_size_max = "524288" }, { "-o", "idle_timeout=60s", idle_timeout = "60" },
    { "-m", "100 -c 400", maxbytes = "104857600" }, { "-p", "x", tcpport = "0" },
    { "-p", "0x2b67", tcpport = "0" }, { "--po", "1", tcpport = "1" },
}

describe("words of the command line", function()
    it("are refused by slated where their numbers are not clear", function()
        for _, words in ipairs(WORDS) do
            local _, _, code = os.execute(("timeout 300 %s %s %s %s 2>/dev/null"):format(server.quoted(server.slated()),
                server.USER, server.quoted(words[1]), server.quoted(words[2])))
            assert.equal(64, code, words[2])
        end
    end)

    it("are cut short by memcached where their numbers are not clear", function()
        if server.memcached() ~= PEER then
            pending("memcached 1.6.45 is not built (tests/bench/peer builds it)")
            return
        end
        for _, words in ipairs(WORDS) do
            local one = server.start({ binary = PEER, args = { words[1], words[2] } })
            local connection = wire.connect(one.address)
            local _, settings = wire.stats(connection, "settings")
            connection:close()
            one:stop()
            for name, value in pairs(words) do
                assert.equal(type(name) == "string" and value or nil, settings[name], words[2])
            end
        end
    end)
end)
