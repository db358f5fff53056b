-- SPDX-License-Identifier: BSD-3-Clause
--- Makes slatectl the only program that moves pages on a server, and leaves the server as it was found.
--
-- A guard, a process beside slatectl, holds a lock for the server's address and turns the server's own automove off.
-- The end of a pipe shows that slatectl is gone, by itself, by an error, by Ctrl-C, by SIGTERM or by kill -9; then the
-- guard sets the old mode again. The kernel frees the lock with the guard.
-- Movers on other machines do not see the lock: slate.act.policy_run stops when automove or the count of moved pages
-- shows another mover.
local automove = require "slate.facts.automove"
local clock = require "slate.base.clock"
local policy_run = require "slate.act.policy_run"
local shell = require "slate.base.shell"

local M = {}

-- In the environment of a guard: the file to which the guard writes whether it holds the server.
local STATUS <const> = "SLATE_GUARD"
local POLL_S <const> = 0.01
local GRACE_S <const> = 10 -- beyond the time-out of the connection, for a guard to start

--- The file with the lock for moving pages on a server. All names of this machine have the same file.
function M.lock_path(server_name)
    local folder = os.getenv("SLATE_LOCK_DIR") or "/run/lock"
    if not shell.run(("test -d %s -a -w %s"):format(shell.word(folder), shell.word(folder))) then
        folder = "/tmp"
    end
    local name = server_name:gsub("^localhost:", "127.0.0.1:"):gsub("^%[::1%]:", "127.0.0.1:")
    return ("%s/slate-mover-%s.lock"):format(folder, (name:gsub("[^%w.:_-]", "_")))
end

-- Opened for reading only: a lock needs no more, and in /tmp one user cannot open another's file to write.
local GUARD <const> = [[
    trap '' INT TERM HUP
    lock=%s; status=%s
    [ -e "$lock" ] || : >"$lock"
    exec 9<"$lock" || { echo "output cannot open $lock" >"$status"; exit 1; }
    if ! flock -n 9; then echo "busy $(cat "$lock")" >"$status"; exit 1; fi
    { echo "$PPID" >"$lock"; } 2>/dev/null
    exec %s]]

-- The same command line once more, so that the guard reaches the server by the same options.
local function same_command()
    local words = { shell.word(arg[-1] or "lua5.4"), shell.word(arg[0]) }
    for _, word in ipairs(arg) do
        words[#words + 1] = shell.word(word)
    end
    return table.concat(words, " ")
end

local function read_line(path)
    local file = io.open(path)
    local line = file and file:read("L")
    if file then
        file:close()
    end
    return line and line:match("^(.*)\n$") -- a complete line
end

local Takeover = {}
Takeover.__index = Takeover
Takeover.__name = "slate.fleet.takeover"

local function refused(context, word, text)
    if word == "busy" then
        return nil, ("another slatectl%s moves pages on %s (%s is locked)"):format(
            text:find("^%d+$") and ", process " .. text .. "," or "", context.server.name,
            M.lock_path(context.server.name)), "busy"
    end
    return nil, text, word
end

--- Takes the server over. Returns an object for `give_back`, or nil, message, code. Its field `mode` is the server's
-- automove before; nil if that was off.
function M.begin(context)
    local status = os.tmpname()
    local script = GUARD:format(shell.word(M.lock_path(context.server.name)), shell.word(status), same_command())
    local pipe = assert(io.popen(("%s=%s exec setsid sh -c %s"):format(STATUS, shell.word(status),
        shell.word(script)), "w"))
    local until_s = clock.steady_s() + context.timeout_s + GRACE_S
    local line
    repeat
        clock.sleep(POLL_S)
        line = read_line(status)
    until line or clock.steady_s() > until_s
    os.remove(status)
    local word, text = (line or "internal the guard of automove did not answer in time"):match("^(%S+) ?(.*)$")
    if word ~= "held" then
        pipe:close()
        return refused(context, word, text)
    end
    return setmetatable({ pipe = pipe, mode = text ~= "off" and text or nil }, Takeover)
end

--- Gives the server back and waits for that. Returns true, or false if the guard failed; the guard has printed why.
function Takeover:give_back()
    return (self.pipe:close()) == true
end

--- True if this process is the guard of another.
function M.is_guard()
    return os.getenv(STATUS) ~= nil
end

local function answer(text)
    local file = assert(io.open(os.getenv(STATUS), "w"))
    file:write(text, "\n")
    file:close()
end

-- Over a new connection: hours may have passed. Returns true, or nil, message, code.
local function restore(context, mode)
    local client, message, code = context:open()
    if not client then
        return nil, ("automove was %s and is off now: %s"):format(automove.name_of(mode), message), code
    end
    local now
    now, message, code = context:snapshot(client)
    local set_meanwhile = now and policy_run.automove(now)
    if set_meanwhile then
        context:print_note(("automove was set to %s meanwhile, and stays so"):format(
            automove.name_of(set_meanwhile)))
    elseif now then
        now, message, code = policy_run.set_automove(client, mode)
    end
    client:close()
    if not now then
        return nil, ("automove was %s and is off now: %s"):format(automove.name_of(mode), message), code
    elseif not set_meanwhile then
        context:print_note("automove is " .. automove.name_of(mode) .. " again")
    end
    return true
end

--- The work of the guard, which holds its lock already. Returns an exit code, or nil, message, code.
function M.guard(context)
    local client, message, code = context:open()
    local now
    if client then
        now, message, code = context:snapshot(client)
    end
    local mode = now and policy_run.automove(now)
    if mode then
        now, message, code = policy_run.set_automove(client, "0")
    end
    if not now then
        answer(code .. " " .. message)
        return 0
    end
    client:close()
    answer("held " .. (mode or "off"))
    io.stdin:read("a")
    if mode then
        local ok
        ok, message, code = restore(context, mode)
        if not ok then
            return nil, message, code
        end
    end
    return 0
end

return M
