-- SPDX-License-Identifier: BSD-3-Clause
--- Servers that take over from each other, in a folder of their own: its files `s` (their UNIX socket), `t`
-- (the takeover's), `pid`, `ports` and `log`.
--
--     local place = takeover.place { words = "-m 64" }
--     local first = place:start()                    -- its pid, once it serves
--     local client = place:connect()
--     place:take_over()                              -- by SIGUSR2; returns once only the next one is there
--     local said, status = place:refused("--index=chained")
--     place:finish()
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"

local M = {}

local BUSY <const>, SLOW <const> = "warn: another process is taking over", "does not serve within %d+ s"

local Place = {}
Place.__index = Place

--- options: words (of every server started here, behind -v -t 2), tcp (true: they do not listen at `s`), binary.
function M.place(options)
    options = options or {}
    local folder = server.folder()
    local listens = options.tcp and "" or ("-s %s/s"):format(folder)
    return setmetatable({
        folder = folder,
        binary = options.binary or server.slated(),
        always = ("-v -t 2 %s -P %s/pid -o takeover_socket=%s/t %s %s"):format(listens, folder, folder, server.USER,
            options.words or ""),
        pids = {},
    }, Place)
end

--- The command of a server, with more options.
function Place:words(more)
    return ("env MEMCACHED_PORT_FILENAME=%s/ports %s %s %s"):format(self.folder, server.quoted(self.binary),
        self.always, more or "")
end

--- The content of a file of the folder; "" when there is none.
function Place:read(name) return server.read_file(self.folder .. "/" .. name) or "" end

--- The log of all servers.
function Place:log() return self:read("log") end

--- The number of matches of a pattern in their log.
function Place:count(said) return select(2, self:log():gsub(said, "")) end

--- The number of takeovers that failed.
function Place:refusals() return self:count("; this one goes on") end

--- The pid of the serving one, by its pidfile; nil: none serves yet.
function Place:serving() return math.tointeger(tonumber(self:read("pid"):match("^%d+"))) end

--- Starts a command in the background; returns its pid.
function Place:background(command, to)
    local pid = math.tointeger(tonumber(server.capture(("exec %s </dev/null >>%s/%s 2>&1 & echo $!"):format(command,
        self.folder, to or "log"))))
    self.pids[#self.pids + 1] = pid
    return pid
end

--- Starts a server, without waiting; its pid, unless the server goes into the background by itself.
function Place:run(more, environment)
    return self:background(("env %s %s"):format(environment or "A=", self:words(more)))
end

--- Starts a server, and waits until it serves; its pid.
function Place:start(more, environment)
    os.remove(self.folder .. "/pid")
    self:run(more, environment)
    self.pids[#self.pids + 1] = patience.wait_for("slated to serve", function() return self:serving() end)
    return self.pids[#self.pids]
end

function Place:connect() return wire.connect(self.folder .. "/s") end

function Place.wait_for_end(_, pid)
    patience.wait_for("process " .. pid .. " to end", function() return not server.is_running(pid) end)
end

--- Waits until another server than before serves, and the earlier one is gone.
function Place:wait_for_next(before)
    patience.wait_for("the next process to serve", function() return self:serving() ~= before end)
    self.pids[#self.pids + 1] = self:serving()
    self:wait_for_end(before)
end

--- Asks the server for its successor and waits for that one; asks again if the server had not yet forgotten a peer that
-- has gone, or if the machine was too busy for the successor to serve in time.
function Place:take_over()
    local before, failed = self:serving(), self:count(BUSY) + self:count(SLOW)
    assert(os.execute("kill -USR2 " .. before))
    patience.wait_for("the next process to serve", function()
        local failed_now = self:count(BUSY) + self:count(SLOW)
        if failed_now > failed then
            failed = failed_now
            assert(os.execute("kill -USR2 " .. before))
        end
        return self:serving() ~= before
    end)
    self:wait_for_next(before)
end

--- Runs a next process with these options that must not take over; its output and its status.
function Place:refused(more)
    local said = server.capture(("timeout %d %s --takeover 2>&1; echo $?"):format(patience.DEADLINE_S,
        self:words(more)))
    local words, status = said:match("^(.*)\n(%d+)%s*$")
    return words or "", tonumber(status or said)
end

function Place:kill(pid)
    os.execute(("kill -9 %d 2>/dev/null"):format(pid))
    self:wait_for_end(pid)
end

--- Ends all that were started here, and removes the folder.
function Place:finish()
    self.pids[#self.pids + 1] = self:serving()
    for _, pid in ipairs(self.pids) do
        if server.is_running(pid) then
            self:kill(pid)
        end
    end
    server.remove_folder(self.folder)
end

return M
