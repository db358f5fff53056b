-- SPDX-License-Identifier: BSD-3-Clause
--- A server in a folder of its own that ends and starts again: its files `s` (its UNIX socket), `log` and, with -e,
--- `memory`.
--
--     local one = restart.begin("-m 64")
--     local client = one:connect()
--     client = one:again("KILL", "-m 32")   -- ends it by that signal, and starts it anew
--     one:finish()
local patience = require "support.patience"
local server = require "support.server"
local unix = require "socket.unix"
local wire = require "support.wire"

local M = {}

local One = {}
One.__index = One

-- Whether a server takes connections there and, told to quit, hangs up. A socket has its name before it listens.
local function answers(path)
    local connection = unix.stream()
    local problem
    if connection:connect(path) then
        connection:settimeout(patience.DEADLINE_S)
        connection:send("quit\r\n")
        problem = select(2, connection:receive("*l"))
    end
    connection:close()
    return problem == "closed"
end

--- Starts the server with these words, and waits until it serves or has ended. shell: text before its command in its
-- folder, such as NAME=VALUE or a command and a semicolon; streams: its redirections, by default to the log.
function One:start(words, shell, streams)
    local program = server.quoted(server.capture("realpath " .. server.slated()))
    local command = ("exec 2>/dev/null; cd %s; %s %s %s %s -s %s/s %s </dev/null %s & echo $!; wait $!; echo $?")
        :format(self.folder, shell or "", program, words or "", self.always, self.folder, server.USER,
        streams or ">>log 2>&1")
    self.shell = assert(io.popen(command, "r"))
    self.pid = assert(math.tointeger(tonumber(self.shell:read("l"))))
    patience.wait_for("slated to serve", function()
        return answers(self.folder .. "/s") or not server.is_running(self.pid)
    end)
end

--- Waits for the server's end; its status.
function One:status()
    local code = tonumber(self.shell:read("l"))
    self.shell:close()
    self.shell, self.pid = nil, nil
    return code
end

--- Ends the server by a signal; a killed one leaves its socket, which is removed.
function One:stop(signal)
    assert(os.execute(("kill -%s %d"):format(signal, self.pid)))
    local code = self:status()
    os.remove(self.folder .. "/s")
    return code
end

--- Ends the server and starts it anew; returns a connection.
function One:again(signal, words)
    self:stop(signal)
    self:start(words)
    return self:connect()
end

function One:connect() return wire.connect(self.folder .. "/s") end

--- The server's log, of all its lives.
function One:log() return server.read_file(self.folder .. "/log") end

--- Waits for a matching line: a thread of its own writes the log, so lines may come later than replies.
function One:says(pattern)
    return patience.wait_for("the log to say " .. pattern, function() return self:log():match(pattern) end)
end

--- Runs another server that must fail with these words; its output and its status.
function One:refused(words)
    local said = server.capture(("timeout %d %s %s -s %s/other %s 2>&1; echo $?"):format(patience.DEADLINE_S,
        server.quoted(server.slated()), words, self.folder, server.USER))
    local text, code = said:match("^(.*)\n(%d+)$")
    return text or "", tonumber(code or said)
end

function One:finish()
    if self.pid and server.is_running(self.pid) then
        os.execute("kill -9 " .. self.pid)
    end
    if self.shell then
        self.shell:close()
    end
    server.remove_folder(self.folder)
end

--- A new server without a memory file, not yet started.
function M.place() return setmetatable({ folder = server.folder(), always = "" }, One) end

--- A running server with a memory file.
function M.begin(words)
    local one = M.place()
    one.always = ("-v -e %s/memory"):format(one.folder)
    one:start(words)
    return one
end

return M
