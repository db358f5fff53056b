-- SPDX-License-Identifier: BSD-3-Clause
-- A command of slatectl beside a client that keeps a server busy.
local M = {}

--- Runs words of slatectl while another process stores and reads one item again and again. ctl: of support.command.
-- Returns the exit code and the output.
function M.beside(ctl, address, words)
    local file = assert(io.open(ctl.folder .. "/traffic.lua", "w"))
    file:write(([[
        package.path = %q .. "/lua/?.lua;" .. package.path
        local client = assert(require("slate.wire.client").connect(%q))
        repeat
            assert(client:set("r", "v"))
            assert(client:get("r"))
            local marker = io.open("started", "w")
            marker:close()
            local stop = io.open("stop")
        until stop
    ]]):format(ctl.root, address))
    file:close()
    return ctl.shell(("rm -f started stop; lua5.4 traffic.lua & pid=$!; until [ -e started ]; do sleep 0.02; done; "
        .. "slatectl %s; code=$?; touch stop; wait $pid; exit $code"):format(words))
end

return M
