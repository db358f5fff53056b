-- SPDX-License-Identifier: BSD-3-Clause
--- A checksum of a stream, the same for pieces of any size: XXH64 of each block of 64 KiB, seeded with the sum of the
-- block before (the first: 0). The last block is the remainder, which may be empty.
local xxh64 <const> = require("slate.wire.xxh").xxh64

local M = {}

local BLOCK_BYTES <const> = 1 << 16

local Sum = {}
Sum.__index = Sum
Sum.__name = "slate.wire.block_sum"

--- Begins a sum.
function M.new()
    return setmetatable({ hash = 0, parts = {}, bytes = 0 }, Sum)
end

--- Adds the next bytes.
function Sum:add(text)
    self.parts[#self.parts + 1] = text
    self.bytes = self.bytes + #text
    if self.bytes < BLOCK_BYTES then
        return
    end
    local all, at = table.concat(self.parts), 1
    while #all - at + 1 >= BLOCK_BYTES do
        self.hash = xxh64(all:sub(at, at + BLOCK_BYTES - 1), self.hash)
        at = at + BLOCK_BYTES
    end
    self.parts, self.bytes = { all:sub(at) }, #all - at + 1
end

--- Ends the sum: 16 hexadecimal digits.
function Sum:text()
    return ("%016x"):format(xxh64(table.concat(self.parts), self.hash))
end

return M
