-- SPDX-License-Identifier: BSD-3-Clause
--- A fleet for trying out: several servers on this machine, and twemproxy (nutcracker) in front of them.
--
-- All it knows of itself stands in its folder: `fleet`, a line for each process; `servers`, the members as
-- `slate.fleet.ring` and nutcracker read them; nutcracker's configuration, and what each process has said.
-- @module slate.fleet.local_fleet
local clock = require "slate.base.clock"
local shell = require "slate.base.shell"
local trimmed = require("slate.base.units").trimmed

local M = {}

M.MAX_SERVERS = 64
local START_S <const>, STOP_S <const>, POLL_S <const>, PROXY_ATTEMPTS <const> = 15, 10, 0.02, 5

local function capture(command)
    local pipe = assert(io.popen(command, "r"))
    local text = pipe:read("a")
    pipe:close()
    return trimmed(text)
end

local function read_file(path)
    local file = io.open(path, "rb")
    local text = file and file:read("a")
    if file then
        file:close()
    end
    return text
end

local function write_file(path, text)
    local file, problem = io.open(path, "w")
    if not file or not file:write(text) or not file:close() then
        return nil, ("cannot write %s: %s"):format(path, problem or "the disk may be full"), "output"
    end
    return true
end

local function wait_until(limit_s, condition)
    local until_s = clock.steady_s() + limit_s
    while not condition() do
        if clock.steady_s() > until_s then
            return false
        end
        clock.sleep(POLL_S)
    end
    return true
end

--- The folder of a fleet that was not given one: for each user one.
-- @tparam function environment such as os.getenv
-- @treturn string
function M.default_folder(environment)
    return (environment("XDG_RUNTIME_DIR") or "/tmp") .. "/slate-fleet-" .. capture("id -un")
end

-- Is a process of ours still there? Its command line names our folder, so that a pid that was given to somebody else
-- is not taken for ours. It is empty for a moment while a program takes the place of another, and for a dead process
-- that nobody has asked about yet.
local function is_running(folder, pid)
    local words
    repeat
        words = read_file(("/proc/%d/cmdline"):format(pid))
        local state = (read_file(("/proc/%d/stat"):format(pid)) or ""):match("%) (%u)")
        local is_gone = not words or not state or state == "Z" or state == "X"
    until is_gone or words ~= ""
    return words ~= nil and words:find(folder, 1, true) ~= nil
end

-- Starts a process that outlives us; what it says goes to a log.
local function launch(folder, name, words, environment)
    local line = {}
    for i, word in ipairs(words) do
        line[i] = shell.word(word)
    end
    local pid = capture(("%s setsid %s </dev/null >%s 2>&1 & echo $!"):format(environment or "",
        table.concat(line, " "), shell.word(("%s/%s.log"):format(folder, name))))
    return { name = name, pid = math.tointeger(tonumber(pid)) }
end

local function last_words(folder, name)
    local said = trimmed(read_file(("%s/%s.log"):format(folder, name)) or "")
    return said:match("^.*\n(.*)$") or said
end

-- Does somebody answer at an address as a cache does?
local function answers(address)
    local client = require("slate.wire.client").connect(address, { timeout_s = 1 })
    local item = client and client:get("slate-fleet")
    if client then
        client:close()
    end
    return item ~= nil
end

local function port_of(folder, name)
    return (read_file(("%s/%s.port"):format(folder, name)) or ""):match("TCP INET: (%d+)")
end

local function start_server(folder, number, options)
    local name = "server-" .. number
    local one = launch(folder, name, {
        options.program, "-l", "127.0.0.1", "-p", options.port and options.port + number or -1, "-U", 0,
        "-m", options.memory_mb, "-u", capture("id -un"), "-P", ("%s/%s.pid"):format(folder, name),
    }, ("MEMCACHED_PORT_FILENAME=%s"):format(shell.word(("%s/%s.port"):format(folder, name))))
    one.weight = options.weights and options.weights[number] or 1
    local up = wait_until(START_S, function()
        local port = port_of(folder, name)
        one.address = port and "127.0.0.1:" .. port
        return one.address and answers(one.address) or not is_running(folder, one.pid)
    end)
    if not up or not is_running(folder, one.pid) then
        return one, ("%s did not start: %s"):format(options.program, last_words(folder, name))
    end
    return one
end

-- A port of the loopback that was free a moment ago.
local function free_port()
    local socket = require("socket.core").tcp()
    assert(socket:bind("127.0.0.1", 0))
    local _, port = socket:getsockname()
    socket:close()
    return math.tointeger(tonumber(port))
end

--- nutcracker's configuration for a fleet: ketama with MD5, as clients of libmemcached have it. Pure.
-- @tparam {string,...} servers as nutcracker writes them
-- @tparam integer port that it listens on
-- @tparam[opt] table options `hash` ("md5") and `distribution` ("ketama")
-- @treturn string YAML
function M.proxy_configuration(servers, port, options)
    options = options or {}
    local lines = {
        "slate:", "  listen: 127.0.0.1:" .. port, "  hash: " .. (options.hash or "md5"),
        "  distribution: " .. (options.distribution or "ketama"), "  auto_eject_hosts: false", "  timeout: 5000",
        "  preconnect: true", "  servers:",
    }
    for _, server in ipairs(servers) do
        lines[#lines + 1] = "   - " .. server
    end
    return table.concat(lines, "\n") .. "\n"
end

--- Where nutcracker is.
-- @treturn string its path, or nil, message, "missing"
function M.proxy_program()
    local path = capture("PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nutcracker")
    if path == "" then
        return nil, "nutcracker is not installed (Debian: apt install nutcracker); --no-proxy does without", "missing"
    end
    return path
end

local function start_proxy(folder, servers, program, options)
    local one
    for _ = 1, options.port and 1 or PROXY_ATTEMPTS do
        local port = options.port or free_port()
        local ok, message = write_file(folder .. "/nutcracker.yml", M.proxy_configuration(servers, port, options))
        if not ok then
            return nil, message
        end
        -- It has a port for its statistics too, which it cannot do without, and a log that only root may write.
        one = launch(folder, "nutcracker", { program, "-c", folder .. "/nutcracker.yml", "-a", "127.0.0.1",
            "-s", free_port(), "-p", folder .. "/nutcracker.pid", "-o", folder .. "/nutcracker.log" })
        one.address = "127.0.0.1:" .. port
        wait_until(START_S, function()
            return answers(one.address) or not is_running(folder, one.pid)
        end)
        -- Another program may have been faster with the port: then ours has ended.
        if is_running(folder, one.pid) and answers(one.address) then
            return one
        end
    end
    return one, "nutcracker did not start: " .. last_words(folder, "nutcracker")
end

local function stop_all(folder, processes)
    for _, one in ipairs(processes) do
        if is_running(folder, one.pid) then
            shell.run("kill " .. one.pid)
        end
    end
    for _, one in ipairs(processes) do
        if not wait_until(STOP_S, function() return not is_running(folder, one.pid) end) then
            shell.run("kill -9 " .. one.pid)
        end
    end
end

-- Removes what we have put there, and the folder when nothing else is in it.
local function remove_folder(folder, processes)
    for _, one in ipairs(processes) do
        for _, ending in ipairs({ "log", "port", "pid" }) do
            os.remove(("%s/%s.%s"):format(folder, one.name, ending))
        end
    end
    for _, name in ipairs({ "nutcracker.yml", "servers", "fleet" }) do
        os.remove(folder .. "/" .. name)
    end
    return os.remove(folder)
end

-- A file of the folder, if that is this user's and not a link to another: what stands in one of somebody else's would
-- be obeyed, and what has the names of ours there removed. Its text; or nil and a message, "input".
local function read_ours(folder, name)
    local word = shell.word(folder)
    local is_ours = shell.run(("test -d %s -a -O %s -a ! -h %s"):format(word, word, word))
    local text = is_ours and read_file(folder .. "/" .. name)
    if text then
        return text
    end
    return nil, ("there is no fleet in %s"):format(folder) .. (not is_ours and shell.run("test -e " .. word)
        and ": it is not a folder of your own" or ""), "input"
end

-- Starts all that the options ask for. Returns the processes, and a message when one did not start.
local function start_all(folder, count, proxy, options)
    local processes, servers = {}, {}
    for number = 1, count do
        local one, problem = start_server(folder, number, options)
        processes[number] = one
        if problem then
            return processes, problem
        end
        local name = options.names and " " .. options.names[number] or ""
        servers[number] = ("%s:%d%s"):format(one.address, one.weight, name)
    end
    if proxy then
        local one, problem = start_proxy(folder, servers, proxy, options)
        processes[#processes + 1] = one
        if problem then
            return processes, problem
        end
    end
    local lines = {}
    for i, one in ipairs(processes) do
        lines[i] = ("%d %s %s %d\n"):format(one.pid, one.name, one.address, one.weight or 0)
    end
    local ok, problem = write_file(folder .. "/servers", table.concat(servers, "\n") .. "\n")
    if ok then
        ok, problem = write_file(folder .. "/fleet", table.concat(lines))
    end
    return processes, not ok and problem or nil
end

--- Starts a fleet. What was started is ended again when not all of it comes up.
-- @tparam string folder an absolute path; it must not be there yet
-- @tparam integer count how many servers, 1 to 64
-- @tparam table options `program` of the servers, `memory_mb` of each, `weights` (a list), `names` (a list: what their
-- points are made of instead of their addresses), `port` (of the proxy; the servers have those behind it; any free
-- ones by default), `no_proxy`, `hash` and `distribution` of the proxy
-- @treturn[1] {table,...} the processes: { name, pid, address, weight }; the proxy, without a weight, is the last
-- @treturn[2] nil
-- @treturn[2] string message
-- @treturn[2] string code
function M.up(folder, count, options)
    local proxy, message, code
    if not options.no_proxy then
        proxy, message, code = M.proxy_program()
        if not proxy then
            return nil, message, code
        end
    end
    if read_file(folder .. "/fleet") then
        return nil, ("a fleet is up in %s; slatectl fleet down --folder %s ends it"):format(folder, shell.word(folder)),
            "busy"
    elseif not shell.run(("mkdir -m 700 %s 2>/dev/null"):format(shell.word(folder))) then
        return nil, ("cannot make the folder %s, or something is there already"):format(folder), "output"
    end
    local processes, problem = start_all(folder, count, proxy, options)
    if problem then
        stop_all(folder, processes)
        remove_folder(folder, processes)
        return nil, problem, "internal"
    end
    return processes
end

--- The processes of the fleet in a folder, as it was started.
-- @tparam string folder
-- @treturn {table,...} as `up` returns them, with `running`; or nil, message, "input"
function M.read(folder)
    local text, message, code = read_ours(folder, "fleet")
    if not text then
        return nil, message, code
    end
    local processes = {}
    for pid, name, address, weight in text:gmatch("(%d+) ([%w-]+) (%S+) (%d+)\n") do
        local one = { pid = math.tointeger(tonumber(pid)) or 0, name = name, address = address }
        one.weight = weight ~= "0" and math.tointeger(tonumber(weight)) or nil
        one.running = is_running(folder, one.pid)
        processes[#processes + 1] = one
    end
    return processes
end

--- The members of the fleet in a folder, as `slate.fleet.ring.new` takes them.
-- @tparam string folder
-- @treturn {string,...} or nil, message, "input"
function M.servers(folder)
    local text, message, code = read_ours(folder, "servers")
    if not text then
        return nil, message, code
    end
    local servers = {}
    for line in text:gmatch("[^\n]+") do
        servers[#servers + 1] = line
    end
    return servers
end

--- Ends a fleet and removes its folder.
-- @tparam string folder
-- @treturn {table,...} the processes that were ended; or nil, message, code
function M.down(folder)
    local processes, message, code = M.read(folder)
    if not processes then
        return nil, message, code
    end
    stop_all(folder, processes)
    local ok, problem = remove_folder(folder, processes)
    if not ok then
        return nil, ("the fleet has ended, but its folder stays: %s"):format(problem), "output"
    end
    return processes
end

return M
