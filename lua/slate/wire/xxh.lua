-- SPDX-License-Identifier: BSD-3-Clause
--- XXH32 and XXH64, by the xxHash specification.
local M = {}

local MASK <const> = 0xffffffff
local A32 <const>, B32 <const>, C32 <const>, D32 <const>, E32 <const> =
    0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1
local A64 <const>, B64 <const>, C64 <const>, D64 <const>, E64 <const> =
    0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5

local function left32(x, bits)
    x = x & MASK
    return ((x << bits) | (x >> (32 - bits))) & MASK
end

local function round32(lane, word)
    return (left32(lane + word * B32, 13) * A32) & MASK
end

-- Runs the stripes of 16 bytes through four lanes; returns the sum and the start of the remainder.
local function stripes32(text, seed)
    local a, b, c, d = seed + A32 + B32, seed + B32, seed, seed - A32
    local at = 1
    while at + 15 <= #text do
        local w, x, y, z = string.unpack("<I4I4I4I4", text, at)
        a, b, c, d = round32(a, w), round32(b, x), round32(c, y), round32(d, z)
        at = at + 16
    end
    return left32(a, 1) + left32(b, 7) + left32(c, 12) + left32(d, 18), at
end

--- XXH32 of any bytes, with a seed of 32 bits.
function M.xxh32(text, seed)
    seed = seed or 0
    local hash, at = seed + E32, 1
    if #text >= 16 then
        hash, at = stripes32(text, seed)
    end
    hash = (hash + #text) & MASK
    while at + 3 <= #text do
        hash = (left32(hash + string.unpack("<I4", text, at) * C32, 17) * D32) & MASK
        at = at + 4
    end
    for i = at, #text do
        hash = (left32(hash + text:byte(i) * E32, 11) * A32) & MASK
    end
    hash = ((hash ~ (hash >> 15)) * B32) & MASK
    hash = ((hash ~ (hash >> 13)) * C32) & MASK
    return hash ~ (hash >> 16)
end

local function left64(x, bits)
    return (x << bits) | (x >> (64 - bits))
end

local function round64(lane, word)
    return left64(lane + word * B64, 31) * A64
end

local function merge64(hash, lane)
    return (hash ~ round64(0, lane)) * A64 + D64
end

-- Rounds are written out, since calls took half of the time: the checksums of files of items need speed.
local function stripes64(text, seed)
    local unpack <const> = string.unpack
    local a, b, c, d = seed + A64 + B64, seed + B64, seed, seed - A64
    local at, last = 1, #text - 31
    while at <= last do
        local w, x, y, z
        w, x, y, z, at = unpack("<i8i8i8i8", text, at)
        a, b, c, d = a + w * B64, b + x * B64, c + y * B64, d + z * B64
        a, b = ((a << 31) | (a >> 33)) * A64, ((b << 31) | (b >> 33)) * A64
        c, d = ((c << 31) | (c >> 33)) * A64, ((d << 31) | (d >> 33)) * A64
    end
    local hash = left64(a, 1) + left64(b, 7) + left64(c, 12) + left64(d, 18)
    return merge64(merge64(merge64(merge64(hash, a), b), c), d), at
end

--- XXH64 of any bytes, with a seed of 64 bits. The 64 bits are a Lua integer, so the upper half of the range is
-- negative; `%x` prints it right.
function M.xxh64(text, seed)
    seed = seed or 0
    local hash, at = seed + E64, 1
    if #text >= 32 then
        hash, at = stripes64(text, seed)
    end
    hash = hash + #text
    while at + 7 <= #text do
        hash = left64(hash ~ round64(0, (string.unpack("<i8", text, at))), 27) * A64 + D64
        at = at + 8
    end
    if at + 3 <= #text then
        hash = left64(hash ~ (string.unpack("<I4", text, at) * A64), 23) * B64 + C64
        at = at + 4
    end
    for i = at, #text do
        hash = left64(hash ~ (text:byte(i) * E64), 11) * A64
    end
    hash = (hash ~ (hash >> 33)) * B64
    hash = (hash ~ (hash >> 29)) * C64
    return hash ~ (hash >> 32)
end

return M
