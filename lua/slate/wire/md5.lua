-- SPDX-License-Identifier: BSD-3-Clause
--- MD5 (RFC 1321), for placing keys: rings of the ketama family use it. Not for secrets.
-- Debian's md5 library does not load under Lua 5.4, hence our own.
local M = {}

local MASK <const> = 0xffffffff
local SHIFTS <const> = { { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 } }

-- One row a step: the additive constant, the index of its word in the block, and the rotation.
local SINES <const>, WORDS <const>, TURNS <const> = {}, {}, {}
for i = 0, 63 do
    local round = i // 16
    SINES[i] = math.floor(math.abs(math.sin(i + 1)) * 2 ^ 32)
    WORDS[i] = 1 + (round == 0 and i or round == 1 and 5 * i + 1 or round == 2 and 3 * i + 5 or 7 * i) % 16
    TURNS[i] = SHIFTS[round + 1][i % 4 + 1]
end

-- Mixes one block of 64 bytes into the state.
local function mix(a, b, c, d, words)
    local a0, b0, c0, d0 = a, b, c, d
    for i = 0, 63 do
        local f
        if i < 16 then
            f = (b & c) | (~b & d)
        elseif i < 32 then
            f = (d & b) | (~d & c)
        elseif i < 48 then
            f = b ~ c ~ d
        else
            f = c ~ (b | (~d & MASK))
        end
        local sum = (a + f + SINES[i] + words[WORDS[i]]) & MASK
        local turn = TURNS[i]
        a, d, c, b = d, c, b, (b + ((sum << turn) | (sum >> (32 - turn)))) & MASK
    end
    return (a0 + a) & MASK, (b0 + b) & MASK, (c0 + c) & MASK, (d0 + d) & MASK
end

--- The digest of any bytes as four 32-bit words in the order of its bytes (the first word holds the first four,
-- little-endian), as ketama cuts it into points. Cost: some 5 microseconds for each 64 bytes.
function M.words(text)
    local padded = text .. "\128" .. ("\0"):rep((55 - #text) % 64) .. string.pack("<I8", #text * 8)
    local a, b, c, d = 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476
    for at = 1, #padded, 64 do
        a, b, c, d = mix(a, b, c, d, { string.unpack("<I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4", padded, at) })
    end
    return a, b, c, d
end

return M
