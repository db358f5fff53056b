-- SPDX-License-Identifier: BSD-3-Clause
local hash = require "slate.wire.hash"
local xxh = require "slate.wire.xxh"

describe("hash", function()
    it("gives libmemcached's results for keys of every length, in UTF-8 and of odd bytes", function()
        local checked = {}
        for line in io.lines("tests/fixtures/libmemcached-1.1.4.txt") do
            local name, key, value = line:match("^hash (%S+) (%x+) (%d+)$")
            if name then
                local bytes = key:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end)
                assert.equal(tonumber(value), hash[name](bytes), name .. " of " .. bytes)
                checked[name] = (checked[name] or 0) + 1
            end
        end
        for _, name in ipairs({ "one_at_a_time", "md5", "crc", "fnv1_64", "fnv1a_64", "fnv1_32", "fnv1a_32", "murmur",
            "murmur3", "jenkins" }) do
            assert.equal(28, checked[name], name)
        end
    end)

    it("gives xxHash's results below, at and above a stripe, with a seed and without", function()
        -- Byte i of the text (from 0) is 37 i + 1; row j (from 0) has the seed 77 j. From xxHash 0.8.1.
        local VECTORS <const> = {
            { 0, 0x2cc5d05, 0xef46db3751d8e999 },
            { 1, 0x67f612f1, 0x542749344ba4f07a },
            { 4, 0x723d8263, 0x1a1938673c62add4 },
            { 9, 0xb1f6eaad, 0xfb0c2806ea451e29 },
            { 15, 0xb42f52f9, 0x4bd95bc0d79d9bf8 },
            { 16, 0xe0cce9d8, 0x5dd12a890a8874a6 },
            { 17, 0xaa3119db, 0xcc375faa68f83fb4 },
            { 31, 0xa880bd4b, 0xcfb5727aa59cf2e6 },
            { 32, 0x8a6db414, 0x1864042fc0936abc },
            { 33, 0x4df50ca6, 0x559b3f71d8bf1188 },
            { 63, 0x9e656dd8, 0x7e77b5f5ef92506e },
            { 100, 0x7821a1b8, 0xd8ea884697f9771e },
        }
        for row, expected in ipairs(VECTORS) do
            local bytes = {}
            for i = 1, expected[1] do bytes[i] = string.char(((i - 1) * 37 + 1) % 256) end
            local text, seed = table.concat(bytes), (row - 1) * 77
            assert.equal(expected[2], xxh.xxh32(text, seed))
            assert.equal(expected[3], xxh.xxh64(text, seed))
        end
        assert.equal(0x32d153ff, hash.xxh32("abc"))
        assert.equal(0x44bc2cf5ad770999, hash.xxh64("abc"))
    end)

    it("gives CRC-32 with all its bits", function()
        assert.equal(0xcbf43926, hash.crc32("123456789"))
    end)

    it("finds functions by the names of other clients, and names unknown ones", function()
        assert.equal(hash.one_at_a_time, hash.named("default"))
        assert.equal(hash.crc32, hash.named("crc32a"))
        for _, name in ipairs({ "sha1", "named", "" }) do
            local found, message, code = hash.named(name)
            assert.is_nil(found)
            assert.equal("usage", code)
            assert.truthy(message:find("'" .. name .. "'", 1, true))
        end
    end)
end)
