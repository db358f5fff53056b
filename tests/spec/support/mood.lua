-- SPDX-License-Identifier: BSD-3-Clause
--- A client for specs whose reads hit until a setting of the server has a certain value, or (NAME is pages_of_ID) a
-- class so many pages, and miss from then on: `lua5.4 mood.lua SERVER NAME VALUE`. It runs until it is killed, or its
-- server is gone.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local client = assert(require("slate.wire.client").connect(arg[1]))
local fill = require "support.fill"
local runtime = require "slate.facts.runtime"
local class = math.tointeger(tonumber(arg[2]:match("^pages_of_(%d+)$")))

assert(client:set("here", "x"))
while true do
    local value = class and tostring(fill.pages_of(client, class)) or assert(runtime.read(client))[arg[2]]
    local is_set = value == arg[3]
    for _ = 1, 20 do
        client:get(is_set and "gone" or "here")
    end
end
