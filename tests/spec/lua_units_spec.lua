-- SPDX-License-Identifier: BSD-3-Clause
local capture = require("support.server").capture
local units = require "slate.base.units"

describe("units", function()
    it("writes bytes, counts, rates, shares and ages", function()
        assert.equal("96", units.bytes(96))
        assert.equal("1.2Ki", units.bytes(1184))
        assert.equal("10.8Ki", units.bytes(11104))
        assert.equal("64Mi", units.bytes(64 << 20))
        for bytes, words in pairs({ [96] = "96 B",
            [11104] = "10.8 KiB", [64 << 20] = "64 MiB", [3 << 29] = "1.5 GiB" }) do
            assert.equal(words, units.bytes_in_words(bytes))
        end
        assert.equal("-", units.bytes_in_words(nil))
        assert.equal("class 4", units.classes({ 4 }))
        assert.equal("classes 4, 16 and 17", units.classes({ 4, 16, 17 }))
        assert.equal("1.5Gi", units.bytes(3 << 29))
        assert.equal("99999", units.count(99999))
        assert.equal("1235K", units.count(1234567))
        assert.equal("0", units.rate(0))
        assert.equal("0.5", units.rate(0.5))
        assert.equal("12", units.rate(12.4))
        assert.equal("97%", units.percent(0.97))
        assert.equal("92.31%", units.percent(0.92314, 2))
        assert.equal("59s", units.age(59))
        assert.equal("10m12", units.age(612))
        assert.equal("1h02", units.age(3725))
        assert.equal("1d01", units.age(90000))
        assert.equal("402d", units.age(402 * 86400))
        assert.equal("7", units.rate(7.0))
        assert.equal("<0.1", units.rate(0.01))
        assert.equal("12.3M", units.count(12345678))
        assert.equal("1Mi", units.bytes(1023.7 * 1024))
        assert.equal("91.8", units.share(0.9182))
        assert.equal("99.9", units.share(0.9999))
        assert.equal("100", units.share(1))
        assert.equal("<0.1", units.share(0.0001))
    end)

    it("writes the short form of bytes in the columns of slatetop alone", function()
        assert.equal("lua/slate/console/figure.lua", capture([[grep -rlE 'units\.bytes\b' lua/slate]]))
    end)

    it("writes the size of a chunk exactly", function()
        assert.same({ "96", "11104", "1048576", "-" }, { units.chunk(96), units.chunk(11104), units.chunk(1 << 20),
            units.chunk(nil) })
    end)

    it("writes a dash for an unknown figure, never a zero", function()
        for _, show in ipairs({ units.bytes, units.count, units.rate, units.percent, units.share, units.age }) do
            assert.equal("-", show(nil))
        end
    end)

    it("reads durations", function()
        assert.equal(2, units.parse_duration("2"))
        assert.equal(0.25, units.parse_duration("250ms"))
        assert.equal(0.5, units.parse_duration(".5"))
        assert.equal(600, units.parse_duration("10m"))
        for _, bad in ipairs({ "", "x", "-1", "1 s", "5y", "1e3", "0x10" }) do
            local value, message = units.parse_duration(bad)
            assert.is_nil(value, bad)
            assert.truthy(message:find("is not a duration", 1, true))
        end
        assert.equal(3650 * 86400, units.parse_duration("3650d"))
        assert.equal("'3651d' is too long: a duration has at most 3650d", (select(2, units.parse_duration("3651d"))))
    end)

    it("reads decimal numbers, and no others", function()
        for text, number in pairs({ ["20"] = 20, [".5"] = 0.5, ["5."] = 5, ["-3"] = -3, ["007"] = 7 }) do
            assert.equal(number, units.parse_decimal(text))
        end
        for _, bad in ipairs({ "", ".", "-", "1.2.3", " 1", "1 ", "+1", "0x10", "0x1p-1", "1e3", "inf", "nan" }) do
            assert.is_nil(units.parse_decimal(bad), bad)
        end
    end)

    it("reads whole numbers within their range", function()
        assert.equal(12, units.parse_whole("12", 1, 63))
        assert.is_nil(units.parse_whole("1.5"))
        assert.is_nil(units.parse_whole("99999999999999999999"))
        local value, message = units.parse_whole("64", 1, 63)
        assert.is_nil(value)
        assert.equal("64 is out of range: 1 to 63 is allowed", message)
    end)

    it("puts a noun in the singular for one alone", function()
        assert.equal("0 pages", units.plural(0, "page"))
        assert.equal("1 page", units.plural(1, "page"))
        assert.equal("1 class", units.plural(1, "class", "classes"))
        assert.equal("12 classes", units.plural(12, "class", "classes"))
    end)

    it("reads server addresses", function()
        assert.same({ host = "cache7", port = 11211, name = "cache7:11211" }, units.parse_server("cache7"))
        assert.same({ host = "10.0.0.1", port = 1, name = "10.0.0.1:1" }, units.parse_server("10.0.0.1:1"))
        assert.same({ host = "::1", port = 12, name = "[::1]:12" }, units.parse_server("[::1]:12"))
        assert.same({ host = "::1", port = 11211, name = "[::1]:11211" }, units.parse_server("[::1]"))
        assert.same({ host = "::1", port = 11211, name = "[::1]:11211" }, units.parse_server("::1"))
        assert.same({ host = "127.0.0.1", port = 12, name = "127.0.0.1:12" }, units.parse_server(":12"))
        assert.same({ path = "/run/a.sock", name = "/run/a.sock" }, units.parse_server("/run/a.sock"))
        assert.same({ path = "./a.sock", name = "./a.sock" }, units.parse_server("./a.sock"))
        assert.same({ path = "a", name = "a" }, units.parse_server("unix:a"))
        assert.same({ path = "run/a:1.sock", name = "run/a:1.sock" }, units.parse_server("run/a:1.sock"))
        for _, bad in ipairs({ "", "a b", "host:", "host:x", "host:0", "host:65536",
            "[::1", "[::1]x", ":", "::1:x", "run/", "tls://run/a.sock",
            "http://cache7/" }) do
            assert.is_nil(units.parse_server(bad), bad)
        end
    end)

    it("answers a port beyond all numbers, and a word as long as a file, with a short sentence", function()
        local digits = ("9"):rep(20)
        assert.equal(("'host:%s' names port %s: ports go from 1 to 65535"):format(digits, digits),
            select(2, units.parse_server("host:" .. digits)))
        for _, long in ipairs({ ("a "):rep(50000), "host:" .. ("9"):rep(100000), "/" .. ("\n"):rep(100000) }) do
            local server, message = units.parse_server(long)
            assert.is_nil(server)
            assert.is_true(#message < 600, #message)
        end
    end)
end)
