-- SPDX-License-Identifier: BSD-3-Clause
--- The functions with which clients of memcached hash keys, each with the results of libmemcached.
--
--     require("slate.wire.hash").one_at_a_time("some key")   -- 32 bits, as an integer that is never negative
--
-- libmemcached's functions read the bytes of a key as signed characters where its C does, so that keys in UTF-8 get the
-- same hashes; `fnv1a_64` is its 32-bit arithmetic of that name, and `crc` its 15 bits. twemproxy has the same
-- functions (`crc` is its crc32, `crc32` its crc32a). `xxh32` and `xxh64` are xxHash's own.
-- The cost is linear in the key: one to three microseconds for a short one, five for MD5.
local M = {}

local MASK <const> = 0xffffffff

-- A byte as C's char on x86: negative from 128 on.
local function signed(byte)
    return (byte ~ 0x80) - 0x80
end

--- Bob Jenkins' one-at-a-time: libmemcached's and twemproxy's default.
function M.one_at_a_time(key)
    local hash = 0
    for i = 1, #key do
        hash = (hash + signed(key:byte(i))) & MASK
        hash = (hash + (hash << 10)) & MASK
        hash = hash ~ (hash >> 6)
    end
    hash = (hash + (hash << 3)) & MASK
    hash = hash ~ (hash >> 11)
    return (hash + (hash << 15)) & MASK
end

--- The first four bytes of the MD5 digest, little-endian: ketama's hash of keys.
function M.md5(key)
    return (require("slate.wire.md5").words(key))
end

local CRC_TABLE <const> = {}
for byte = 0, 255 do
    local crc = byte
    for _ = 1, 8 do
        crc = crc & 1 == 1 and (crc >> 1) ~ 0xedb88320 or crc >> 1
    end
    CRC_TABLE[byte] = crc
end

--- CRC-32 (IEEE 802.3), all 32 bits.
function M.crc32(key)
    local crc = MASK
    for i = 1, #key do
        crc = (crc >> 8) ~ CRC_TABLE[(crc ~ key:byte(i)) & 0xff]
    end
    return ~crc & MASK
end

--- libmemcached's CRC: bits 16 to 30 of the CRC-32.
function M.crc(key)
    return (M.crc32(key) >> 16) & 0x7fff
end

local FNV_32_START <const>, FNV_32_PRIME <const> = 2166136261, 16777619
local FNV_64_START <const>, FNV_64_PRIME <const> = 0xcbf29ce484222325, 0x100000001b3

--- FNV-1 with 32 bits.
function M.fnv1_32(key)
    local hash = FNV_32_START
    for i = 1, #key do
        hash = ((hash * FNV_32_PRIME) ~ signed(key:byte(i))) & MASK
    end
    return hash
end

--- FNV-1a with 32 bits.
function M.fnv1a_32(key)
    local hash = FNV_32_START
    for i = 1, #key do
        hash = ((hash ~ signed(key:byte(i))) * FNV_32_PRIME) & MASK
    end
    return hash
end

--- The lower half of FNV-1 with 64 bits.
function M.fnv1_64(key)
    local hash = FNV_64_START
    for i = 1, #key do
        hash = (hash * FNV_64_PRIME) ~ signed(key:byte(i))
    end
    return hash & MASK
end

--- libmemcached's FNV-1a "with 64 bits", which calculates with 32: start and prime are cut to their lower halves.
function M.fnv1a_64(key)
    local hash = FNV_64_START & MASK
    for i = 1, #key do
        hash = ((hash ~ signed(key:byte(i))) * (FNV_64_PRIME & MASK)) & MASK
    end
    return hash
end

local function hsieh_tail(hash, key, at, left)
    if left == 3 then
        hash = (hash + string.unpack("<I2", key, at)) & MASK
        hash = hash ~ (hash << 16) ~ (signed(key:byte(at + 2)) << 18)
        hash = hash & MASK
        return hash + (hash >> 11)
    elseif left == 2 then
        hash = (hash + string.unpack("<I2", key, at)) & MASK
        hash = (hash ~ (hash << 11)) & MASK
        return hash + (hash >> 17)
    elseif left == 1 then
        hash = (hash + key:byte(at)) & MASK
        hash = (hash ~ (hash << 10)) & MASK
        return hash + (hash >> 1)
    end
    return hash
end

--- Paul Hsieh's SuperFastHash. Debian builds libmemcached without it; twemproxy has it.
function M.hsieh(key)
    local hash, at = 0, 1
    while at + 3 <= #key do
        local low, high = string.unpack("<I2I2", key, at)
        hash = (hash + low) & MASK
        hash = ((hash << 16) ~ (high << 11) ~ hash) & MASK
        hash = (hash + (hash >> 11)) & MASK
        at = at + 4
    end
    hash = hsieh_tail(hash, key, at, #key - at + 1) & MASK
    hash = (hash ~ (hash << 3)) & MASK
    hash = (hash + (hash >> 5)) & MASK
    hash = (hash ~ (hash << 4)) & MASK
    hash = (hash + (hash >> 17)) & MASK
    hash = (hash ~ (hash << 25)) & MASK
    return (hash + (hash >> 6)) & MASK
end

-- libmemcached's seed of both murmurs.
local function murmur_seed(key)
    return (0xdeadbeef * #key) & MASK
end

-- The bytes after the last whole word, as a little-endian number.
local function remainder_of(key, at)
    return at <= #key and string.unpack("<I" .. #key - at + 1, key, at) or 0
end

--- MurmurHash2.
function M.murmur(key)
    local FACTOR <const> = 0x5bd1e995
    local hash, at = murmur_seed(key) ~ #key, 1
    while at + 3 <= #key do
        local word = (string.unpack("<I4", key, at) * FACTOR) & MASK
        word = ((word ~ (word >> 24)) * FACTOR) & MASK
        hash = ((hash * FACTOR) & MASK) ~ word
        at = at + 4
    end
    if at <= #key then
        hash = ((hash ~ remainder_of(key, at)) * FACTOR) & MASK
    end
    hash = ((hash ~ (hash >> 13)) * FACTOR) & MASK
    return hash ~ (hash >> 15)
end

local function left(x, bits)
    return ((x << bits) | (x >> (32 - bits))) & MASK
end

--- MurmurHash3 for x86 with 32 bits.
function M.murmur3(key)
    local FIRST <const>, SECOND <const> = 0xcc9e2d51, 0x1b873593
    local function scrambled(word)
        return (left((word * FIRST) & MASK, 15) * SECOND) & MASK
    end
    local hash, at = murmur_seed(key), 1
    while at + 3 <= #key do
        hash = (left(hash ~ scrambled((string.unpack("<I4", key, at))), 13) * 5 + 0xe6546b64) & MASK
        at = at + 4
    end
    hash = hash ~ scrambled(remainder_of(key, at)) ~ #key
    hash = ((hash ~ (hash >> 16)) * 0x85ebca6b) & MASK
    hash = ((hash ~ (hash >> 13)) * 0xc2b2ae35) & MASK
    return hash ~ (hash >> 16)
end

local function jenkins_mix(a, b, c)
    a = ((a - c) & MASK) ~ left(c, 4)
    c = (c + b) & MASK
    b = ((b - a) & MASK) ~ left(a, 6)
    a = (a + c) & MASK
    c = ((c - b) & MASK) ~ left(b, 8)
    b = (b + a) & MASK
    a = ((a - c) & MASK) ~ left(c, 16)
    c = (c + b) & MASK
    b = ((b - a) & MASK) ~ left(a, 19)
    a = (a + c) & MASK
    c = ((c - b) & MASK) ~ left(b, 4)
    return a, (b + a) & MASK, c
end

--- Bob Jenkins' lookup3, from 13 as libmemcached starts it.
function M.jenkins(key)
    local start = (0xdeadbeef + #key + 13) & MASK
    local a, b, c = start, start, start
    if key == "" then
        return c
    end
    local padded, at = key .. ("\0"):rep(11), 1
    while true do
        local x, y, z = string.unpack("<I4I4I4", padded, at)
        a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
        if #key - at + 1 <= 12 then
            break
        end
        a, b, c = jenkins_mix(a, b, c)
        at = at + 12
    end
    c = ((c ~ b) - left(b, 14)) & MASK
    a = ((a ~ c) - left(c, 11)) & MASK
    b = ((b ~ a) - left(a, 25)) & MASK
    c = ((c ~ b) - left(b, 16)) & MASK
    a = ((a ~ c) - left(c, 4)) & MASK
    b = ((b ~ a) - left(a, 14)) & MASK
    return ((c ~ b) - left(b, 24)) & MASK
end

--- XXH32 with seed 0.
function M.xxh32(key)
    return require("slate.wire.xxh").xxh32(key)
end

--- XXH64 with seed 0: all 64 bits, as a Lua integer.
function M.xxh64(key)
    return require("slate.wire.xxh").xxh64(key)
end

--- The hash function of this name, or of another client's name ("default", "crc32a"); or nil, message, "usage".
function M.named(name)
    local OTHER_NAMES <const> = { default = "one_at_a_time", crc32a = "crc32" }
    local found = M[OTHER_NAMES[name] or name]
    if type(found) ~= "function" or name == "named" then
        return nil, ("there is no hash named '%s'"):format(name), "usage"
    end
    return found
end

return M
