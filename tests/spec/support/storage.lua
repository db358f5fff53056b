-- SPDX-License-Identifier: BSD-3-Clause
--- Stock memcached with storage on flash, for specs: the binaries that have it, a server with a small file, and one
--- that has written to its file.
local server = require "support.server"

local M = {}

local VALUE_BYTES <const>, ITEMS <const> = 3000, 8000
local QUIET_LOOKS <const> = 6 -- a twentieth of a second apart

--- The stock servers with storage, from server.all(); and the reason where there is none.
function M.all()
    local list = {}
    for _, kind in ipairs(server.all()) do
        if not kind.is_slated and server.capture(kind.binary .. " -h"):find("ext_path", 1, true) then
            list[#list + 1] = kind
        end
    end
    return list, #list == 0 and "no memcached here is built with extstore" or nil
end

--- Starts one with 64 MB of flash in pages of 2 MB. more: further -o options.
function M.start(kind, more)
    local file = os.tmpname()
    local one = server.start({ binary = kind.binary, args = { "-m", "16", "-o", ("ext_page_size=2,ext_wbuf_size=2,"
        .. "ext_path=%s:64m,no_lru_crawler%s"):format(file, more and "," .. more or "") } })
    local stop = one.stop
    function one.stop(self)
        stop(self)
        os.remove(file)
    end
    return one
end

--- Stores values, and waits until the server has written some of them to flash and writes no more.
function M.fill(client)
    local value, last, same = ("x"):rep(VALUE_BYTES), 0, 0
    for i = 1, ITEMS do assert(client:set("stored" .. i, value)) end
    for _ = 1, 1000 do
        local written = require("slate.facts.stats").flat(assert(client:stats())).extstore_objects_written or 0
        last, same = written, written > 0 and written == last and same + 1 or 0
        if same == QUIET_LOOKS then
            return
        end
        require("slate.base.clock").sleep(0.05)
    end
    error("nothing was written to flash, or it never ends")
end

return M
