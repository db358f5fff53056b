-- SPDX-License-Identifier: BSD-3-Clause
--- SipHash-2-4: a hash of 64 bits. Without the key, nobody can invert it or make it collide.
-- Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
local M = {}

local C0 <const>, C1 <const> = 0x736f6d6570736575, 0x646f72616e646f6d
local C2 <const>, C3 <const> = 0x6c7967656e657261, 0x7465646279746573

local function rounds(v0, v1, v2, v3, n)
    for _ = 1, n do
        v0 = v0 + v1
        v1 = (v1 << 13 | v1 >> 51) ~ v0
        v0 = v0 << 32 | v0 >> 32
        v2 = v2 + v3
        v3 = (v3 << 16 | v3 >> 48) ~ v2
        v0 = v0 + v3
        v3 = (v3 << 21 | v3 >> 43) ~ v0
        v2 = v2 + v1
        v1 = (v1 << 17 | v1 >> 47) ~ v2
        v2 = v2 << 32 | v2 >> 32
    end
    return v0, v1, v2, v3
end

--- A function that hashes strings to integers, with a key of 16 bytes.
function M.by(key)
    local k0, k1 = ("<i8i8"):unpack(key)
    return function(text)
        local v0, v1, v2, v3 = k0 ~ C0, k1 ~ C1, k0 ~ C2, k1 ~ C3
        local whole = #text // 8 * 8
        for at = 1, whole, 8 do
            local m = ("<i8"):unpack(text, at)
            v3 = v3 ~ m
            v0, v1, v2, v3 = rounds(v0, v1, v2, v3, 2)
            v0 = v0 ~ m
        end
        local last = (#text & 0xff) << 56
        for i = 1, #text - whole do
            last = last | text:byte(whole + i) << 8 * (i - 1)
        end
        v3 = v3 ~ last
        v0, v1, v2, v3 = rounds(v0, v1, v2, v3, 2)
        v0, v2 = v0 ~ last, v2 ~ 0xff
        v0, v1, v2, v3 = rounds(v0, v1, v2, v3, 4)
        return v0 ~ v1 ~ v2 ~ v3
    end
end

--- The same with a random key from the kernel, which is never shown; or nil and a message.
function M.random()
    local file <close>, problem = io.open("/dev/urandom", "rb")
    local key = file and file:read(16)
    if not key or #key < 16 then
        return nil, "no random bytes can be read: " .. (problem or "/dev/urandom ended")
    end
    return M.by(key)
end

return M
