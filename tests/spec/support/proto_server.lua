-- SPDX-License-Identifier: BSD-3-Clause
--- The program that transcripts are fed to, and its servers: a slated, or a memcached to check the tests themselves
--- against.
--   SLATE_TEST_SERVER        default build/bin/slated
--   SLATE_TEST_SERVER_DEBUG  a build that knows debugtime; default build-debug/bin/slated
local server = require("support.server")
local unix = require("socket.unix")

local M = {}

local chosen -- replaces the programs that the environment names

--- Sets the program under test, and its debug build PATH-debug. nil: as before.
function M.use(path) chosen = path end

--- The program under test: the normal build or the debug build.
function M.program(debug)
    if chosen then
        return chosen .. (debug and "-debug" or "")
    elseif debug then
        return os.getenv("SLATE_TEST_SERVER_DEBUG") or "build-debug/bin/slated"
    end
    return os.getenv("SLATE_TEST_SERVER") or "build/bin/slated"
end

--- True when the program is there.
function M.available(debug) return server.read_file(M.program(debug)) ~= nil end

--- Whether the program has slated's options: a memcached under test has none of them.
function M.is_slated() return M.program():match("slated[^/]*$") ~= nil end

-- A bare connection, or nil and a message. While the listener's queue is full connecting succeeds, but sending fails.
local function connect(self)
    local connection = unix.stream()
    local ok, message = connection:connect(self.address)
    if not ok then
        connection:close()
        return nil, message
    end
    return connection
end

--- Starts a server (of support.server; its `connect` returns bare connections) and waits until it answers.
-- @param options list of command-line words
-- @param debug true for the debug build
-- @param environment list of NAME=VALUE, or nil
-- @return the server, or nil and a message with the server's output
function M.start(options, debug, environment)
    local ok, one = pcall(server.start, { binary = M.program(debug), args = options, environment = environment })
    if not ok then
        return nil, one
    end
    one.connect = connect
    return one
end

return M
