-- SPDX-License-Identifier: BSD-3-Clause
-- Starts a server for one test on a UNIX socket in a folder of its own, and stops it again.
-- The server is a slated, or a memcached to check the tests themselves against:
--   SLATE_TEST_SERVER        default build/bin/slated
--   SLATE_TEST_SERVER_DEBUG  a build that knows debugtime; default build-debug/bin/slated

local lfs = require("lfs")
local socket = require("socket")
local unix = require("socket.unix")

local M = {}

local START_DEADLINE_S = 60 -- only a hang takes that long

local Server = {}
Server.__index = Server
Server.__name = "proto_server.Server"

local chosen -- instead of what the environment names

--- From now on the program under test is this one, and its debug build PATH-debug. nil: as before.
function M.use(path)
    chosen = path
end

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
function M.available(debug)
    local file = io.open(M.program(debug), "rb")
    if file then
        file:close()
    end
    return file ~= nil
end

--- Whether the program has options of ours: a memcached that the tests themselves are checked against has not.
function M.is_slated()
    return M.program():match("slated[^/]*$") ~= nil
end

local function read_all(path)
    local file = io.open(path, "rb")
    local text = file and file:read("a") or ""
    if file then
        file:close()
    end
    return text
end

local function quote(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function run(command)
    local pipe = assert(io.popen(command, "r"))
    local line = pipe:read("l")
    pipe:close()
    return line
end

-- A suite starts hundreds of servers: what can be done without a process is.
local user = run("id -un")

-- A folder of our own, as of mktemp -d.
local function make_folder()
    local parent = os.getenv("TMPDIR") or "/tmp"
    local random = assert(io.open("/dev/urandom", "rb"))
    local folder, made, problem
    repeat
        folder = ("%s/tmp.%08x"):format(parent, (("I4"):unpack(random:read(4))))
        made, problem = lfs.mkdir(folder)
    until made or not lfs.attributes(folder)
    random:close()
    return assert(made and folder, problem)
end

local function remove_folder(folder)
    for name in lfs.dir(folder) do
        if name ~= "." and name ~= ".." then
            os.remove(folder .. "/" .. name)
        end
    end
    if not lfs.rmdir(folder) then -- there are folders in it
        os.execute("rm -rf " .. quote(folder))
    end
end

--- True when the server takes a connection and, told to quit, closes it: afterwards it has none. A memcached that
-- speaks the binary protocol alone looks at nothing before it has the bytes of a head.
function Server:answers()
    local connection = self:connect()
    if not connection then
        return false
    end
    connection:settimeout(START_DEADLINE_S)
    connection:send("quit\r\n" .. ("\n"):rep(18))
    local _, problem = connection:receive("*l")
    connection:close()
    return problem ~= nil and problem ~= "timeout"
end

--- Starts the server and waits until it takes connections.
-- @param options list of command-line words
-- @param debug true for the debug build
-- @param environment list of NAME=VALUE, or nil
-- @return the server, or nil and a message that holds what the server said
function M.start(options, debug, environment)
    local folder = make_folder()
    local self = setmetatable({ folder = folder, path = folder .. "/s", log = folder .. "/log" }, Server)
    local words = { environment and "exec env" or "exec" }
    for _, variable in ipairs(environment or {}) do
        words[#words + 1] = quote(variable)
    end
    for _, word in ipairs { quote(M.program(debug)), "-s", quote(self.path), "-u", user } do
        words[#words + 1] = word
    end
    for _, option in ipairs(options or {}) do
        words[#words + 1] = quote(option)
    end
    -- The shell stays to report the exit status, so that no zombie is left and a crash is seen.
    local command = ("exec 2>%s; %s </dev/null >&2 & echo $!; wait $!; echo $?"):format(
        quote(self.log), table.concat(words, " "))
    self.shell = assert(io.popen(command, "r"))
    self.pid = self.shell:read("l")
    local deadline = socket.gettime() + START_DEADLINE_S
    repeat
        if self:answers() then
            return self
        end
        socket.sleep(0.005)
    until socket.gettime() > deadline or not self:alive()
    local said = read_all(self.log)
    self:stop()
    return nil, ("%s did not start: %s"):format(M.program(debug), said)
end

--- True while the process runs.
function Server:alive()
    local stat = read_all(("/proc/%s/stat"):format(self.pid))
    return stat ~= "" and not stat:find(") Z", 1, true)
end

--- A new connection, or nil and a message. While the listener's queue is full it looks connected, but sending fails.
function Server:connect()
    local connection = unix.stream()
    local ok, message = connection:connect(self.path)
    if not ok then
        connection:close()
        return nil, message
    end
    return connection
end

--- Resident memory of the server in bytes.
function Server:resident_bytes()
    local kib = read_all(("/proc/%s/status"):format(self.pid)):match("VmRSS:%s*(%d+) kB")
    return tonumber(kib) * 1024
end

--- Tells servers to end, as SIGTERM does, and does not wait for them.
function M.terminate(servers)
    local pids = {}
    for _, one in ipairs(servers) do
        if not one.is_told then
            one.is_told = true
            pids[#pids + 1] = one.pid
        end
    end
    if #pids > 0 then
        os.execute(("kill %s 2>/dev/null"):format(table.concat(pids, " ")))
    end
end

--- Ends the server, waits for it and removes its folder.
-- @return the exit status (0 when it ended cleanly), and what it wrote
function Server:stop()
    if not self.shell then
        return nil
    end
    M.terminate({ self })
    local status = tonumber(self.shell:read("l"))
    self.shell:close()
    self.shell = nil
    local said = read_all(self.log)
    remove_folder(self.folder)
    return status, said
end

return M
