-- SPDX-License-Identifier: BSD-3-Clause
--- Starts and stops servers for specs, on a UNIX socket in a folder of its own or on a free TCP port.
--
--     local server = require "support.server"
--     local one = server.start({ args = { "-m", "16" } })   -- slated
--     ... one.address ... one.pid ...
--     one:stop()
local lfs = require "lfs"
local has_world = pcall(require, "slate_world") -- the interpreter is build/world/lua
local world = has_world and require "support.world"

local M = {}

local START_S <const>, STOP_S <const>, POLL_S <const> = 300, 300, 0.005 -- only a hang takes so long

--- A file's text; nil for a file that cannot be read.
function M.read_file(path)
    local file <close> = io.open(path, "rb")
    return file and file:read("a")
end

--- The output of a shell's command, without blanks at its end.
function M.capture(command)
    local pipe <close> = assert(io.popen(command, "r"))
    return (pipe:read("a"):gsub("%s+$", ""))
end

--- Runs a shell's command. Returns whether its status was 0, and all its output, with standard error.
function M.said(command)
    local pipe = assert(io.popen(command .. " 2>&1", "r"))
    local text = pipe:read("a")
    return pipe:close() == true, text
end

--- The option that slated and memcached want when they are started as root.
M.USER = M.read_file("/proc/self/status"):find("\nUid:%s+%d+%s+0%s") and "-u root" or ""

--- Writes a file anew.
function M.write_file(path, text)
    local file = assert(io.open(path, "w"))
    assert(file:write(text))
    assert(file:close())
end

local function sleep(seconds) require("slate.base.clock").sleep(seconds) end

--- Quotes a word for the shell.
function M.quoted(word) return "'" .. tostring(word):gsub("'", "'\\''") .. "'" end

local executables = {} -- the executables seen

local function is_executable(path)
    if path and not executables[path] then
        executables[path] = os.execute("test -x " .. M.quoted(path))
    end
    return path and executables[path] and path or nil
end

--- slated's path: SLATE_TEST_SERVER, or the one that make built; nil for none.
function M.slated()
    return is_executable(os.getenv("SLATE_TEST_SERVER")) or is_executable("build/bin/slated")
end

--- Runs slated with these words of a shell (and NAME=VALUE before), where slated must end by itself: only a hang takes
-- a minute. Returns its exit status, output and errors.
function M.run_slated(words, environment)
    local folder = M.folder()
    local _, _, code = os.execute(("{ %s timeout 300 %s %s; } >%s/out 2>%s/err </dev/null"):format(environment or "",
        M.quoted(assert(M.slated(), "there is no slated to run: run make first")), words, folder, folder))
    local out, err = M.read_file(folder .. "/out"), M.read_file(folder .. "/err")
    M.remove_folder(folder)
    return code, out, err
end

--- The allowed words of an option of slated, in slated's order.
function M.choices(slated, option)
    local rows, list = "\n" .. M.capture(M.quoted(slated) .. " --describe"), {}
    local words = rows:match("\n" .. option .. "\t[^\t]*\tchoice\t[^\t]*\t[^\t]*\t[^\t]*\t([^\t]*)")
    for word in assert(words, option .. " is no choice"):gmatch("[^|]+") do
        list[#list + 1] = word
    end
    return list
end

--- The path of a stock memcached, the newest at hand; or nil.
function M.memcached() return is_executable("build/peer/memcached") or is_executable("/usr/bin/memcached") end

--- A temporary folder, named as by mktemp -d; `remove_folder` removes it. No process is started for this: specs make
-- thousands.
function M.folder()
    local parent = os.getenv("TMPDIR") or "/tmp"
    local random <close> = assert(io.open("/dev/urandom", "rb"))
    local path, made, problem
    repeat
        path = ("%s/tmp.%08x"):format(parent, (("I4"):unpack(random:read(4))))
        made, problem = lfs.mkdir(path)
    until made or not lfs.attributes(path)
    assert(made, problem)
    return path
end

function M.remove_folder(path)
    assert(path:find("^/.+/tmp%.") , "not a folder of mktemp: " .. path)
    if lfs.symlinkattributes(path, "mode") ~= "directory" then
        return
    end
    for name in lfs.dir(path) do
        if name ~= "." and name ~= ".." then
            os.remove(path .. "/" .. name)
        end
    end
    if not lfs.rmdir(path) then -- the folder has folders
        os.execute("rm -rf " .. M.quoted(path))
    end
end

--- Whether a process runs. One that has ended and waits to be reaped does not; one whose first thread has ended, while
-- others have not, still holds its sockets.
function M.is_running(pid)
    local stat = M.read_file(("/proc/%d/stat"):format(pid)) or ""
    local state, threads = stat:match("%) (%u) " .. ("%S+ "):rep(16) .. "(%d+)")
    return state ~= nil and (state ~= "Z" or tonumber(threads) > 1)
end

local function wait_until(limit_s, condition)
    for _ = 1, math.ceil(limit_s / POLL_S) do
        local result = condition()
        if result then
            return result
        end
        sleep(POLL_S)
    end
    return condition()
end

local Server = {}
Server.__index = Server

function Server:is_running()
    if self.inside then
        return self.inside:status() == nil
    end
    return M.is_running(self.pid)
end

--- As SIGTERM; does not wait. A memcached, which would take a second, is killed.
function Server:ask_to_end()
    if self.inside then
        self.inside:ask_to_end()
    else
        os.execute((self.binary:find("memcached[^/]*$") and "kill -9 " or "kill ") .. self.pid)
    end
end

--- Stops the process for a while, as SIGSTOP and SIGCONT.
function Server:hold(is_held)
    if self.inside then
        self.inside:hold(is_held)
    else
        os.execute(("kill -%s %d"):format(is_held and "STOP" or "CONT", self.pid))
    end
end

--- Ends the process, by its pid, and removes its folder. May be called twice. Returns the exit status (0: a clean end)
-- and the server's output; nothing the second time.
function Server:stop()
    if self:is_running() then
        self:ask_to_end()
        if not wait_until(STOP_S, function() return not self:is_running() end) then
            os.execute("kill -9 " .. assert(self.pid, "a server in the world does not end"))
            wait_until(STOP_S, function() return not self:is_running() end)
        end
    end
    if self.folder then
        local status = wait_until(STOP_S, function()
            return self.inside and self.inside:status()
                or (M.read_file(self.folder .. "/status") or ""):match("%d+\n")
        end)
        local said = self:log()
        M.remove_folder(self.folder)
        self.folder = nil
        if world and not self.inside then
            world.goes_with_real_time(false)
        end
        return tonumber(status), said
    end
end

--- The resident memory in bytes.
function Server:resident_bytes()
    return tonumber(M.read_file(("/proc/%d/status"):format(self.pid)):match("VmRSS:%s*(%d+) kB")) * 1024
end

--- The server's standard output and error.
function Server:log() return self.folder and M.read_file(self.folder .. "/log") or "" end

--- A client of this server (slate.wire.client), which waits for a reply as long as for a start if not told otherwise.
function Server:connect(options)
    options = setmetatable({ timeout_s = options and options.timeout_s or START_S }, { __index = options })
    return assert(require("slate.wire.client").connect(self.address, options))
end

local function listen_words(transport, folder)
    if transport == "tcp" then
        return { "-l", "127.0.0.1", "-p", "-1", "-U", "0" }
    end
    return { "-s", folder .. "/socket" }
end

-- The address once known: the socket's path, or the port in the server's port file.
local function find_address(options, folder)
    if options.transport ~= "tcp" then
        return folder .. "/socket"
    end
    local port = (M.read_file(folder .. "/ports") or ""):match(".*TCP INET: (%d+)") -- the first of -l
    return port and (options.tls and "tls://" or "") .. "127.0.0.1:" .. port
end

-- Whether a server answers there; the connection has ended when this returns. One that speaks TLS gets a request for
-- its version; one that speaks binary packets alone reads nothing before the bytes of a head.
local function answers(address, tls)
    if tls then
        local client = address and require("slate.wire.client").connect(address, { timeout_s = 1, tls = tls })
        local line = client and client:command("version")
        if client then
            client:close()
        end
        return line ~= nil and line ~= false
    end
    local opened, connection = pcall(require("support.wire").connect, address or "")
    if not opened then
        return false
    end
    connection:settimeout(1)
    connection:send("quit\r\n" .. ("\n"):rep(18))
    local line, problem = connection:receive("*l")
    connection:close()
    return line ~= nil or problem == "closed"
end

-- Starts a process and returns its pid. A shell waits for the process and writes its exit status to a file.
local function start_process(binary, words, variables, folder)
    local environment, quoted = { "MEMCACHED_PORT_FILENAME=" .. folder .. "/ports" }, {}
    for _, variable in ipairs(variables or {}) do
        environment[#environment + 1] = M.quoted(variable)
    end
    for i, word in ipairs(words) do quoted[i] = M.quoted(word) end
    return math.tointeger(tonumber(M.capture(("{ exec env %s %s %s >%s/log 2>&1 & echo $!; exec >/dev/null 2>&1; "
        .. "wait $!; echo $? >%s/status; } </dev/null &"):format(table.concat(environment, " "), M.quoted(binary),
        table.concat(quoted, " "), folder, folder))))
end

--- Starts a server and waits until it answers. options: binary (default: slated), args (list of words), transport
-- ("unix", the default, or "tcp"), tls (of slate.wire.tls, for a server that requires TLS), environment (list of
-- NAME=VALUE), process (true: not in the world). Returns { pid, address, folder, binary, stop(), log(), connect() },
-- in the world without a pid; raises an error with the server's own words when the server does not start.
function M.start(options)
    options = options or {}
    local binary = assert(options.binary or M.slated(), "there is no slated to start: run make first")
    local folder = M.folder()
    local words = listen_words(options.transport, folder)
    for word in M.USER:gmatch("%S+") do words[#words + 1] = word end
    table.move(options.args or {}, 1, #(options.args or {}), #words + 1, words)
    local server = setmetatable({ folder = folder, binary = binary }, Server)
    if world and not options.process and options.transport ~= "tcp" and not options.environment
        and world.has(binary) then
        server.inside = world.start(binary, words, folder .. "/log")
    else
        if world then
            world.goes_with_real_time(true)
        end
        server.pid = start_process(binary, words, options.environment, folder)
    end
    local up = wait_until(START_S, function()
        server.address = find_address(options, folder)
        return answers(server.address, options.tls) or not server:is_running()
    end)
    if not up or not server:is_running() then
        local said = server:log()
        server:stop()
        error(("%s did not come up: %s"):format(binary, said), 2)
    end
    return server
end

--- Every server to test against: list of { name =, binary =, is_slated = }. Stock memcached comes in two ages when both
-- are at hand: the distribution's and the newest.
function M.all()
    local list = {}
    for _, path in ipairs({ "build/peer/memcached", "/usr/bin/memcached" }) do
        if is_executable(path) then
            list[#list + 1] = { name = M.capture(path .. " -V"), binary = path, is_slated = false }
        end
    end
    if M.slated() then
        list[#list + 1] = { name = "slated", binary = M.slated(), is_slated = true }
    end
    return list
end

--- slated and the newest memcached of these, for claims that hold for every version.
function M.both()
    local list = M.all()
    return #list > 2 and { list[1], list[#list] } or list
end

return M
