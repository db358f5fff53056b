-- A server with the replies of replies.lua, in a process of its own: lua5.4 tests/console/replayer.lua SOCKET VERSION
-- [KIND]
package.path = "lua/?.lua;tests/spec/?.lua;tests/console/?.lua;" .. package.path
local servers = require "servers"

servers.canned(arg[1], require("replies").new(arg[2], arg[3]).session)
while servers.await() do
  while servers.serve() do end
end
