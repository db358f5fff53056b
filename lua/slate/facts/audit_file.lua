-- SPDX-License-Identifier: BSD-3-Clause
--- The file of the record of changes: read, and appended to under a lock, for slate.facts.audit.
local M = {}

--- The text of the record at a path; "" if there is none.
function M.text(path)
    local input = require "slate.base.input"
    return path and input.kind(path) ~= "device" and input.read(path) or ""
end

local function open_to_append(path)
    local file, problem = io.open(path, "a+")
    if not file then
        local shell = require "slate.base.shell"
        shell.run("mkdir -p " .. shell.word(path:match("^(.*)/") or ".") .. " 2>/dev/null")
        file, problem = io.open(path, "a+")
    end
    return file, problem
end

-- Waits for the lock of a file that this process has open; slatetop takes the lock, too. Closing the file releases it.
-- Lua cannot lock a file. But a lock belongs to the open file, which a child shares: so flock(1) takes it. After 5 s
-- without the lock the change is recorded all the same: two entries with one id do less harm than a missing one.
local LOCK <const> = [[for fd in /dev/fd/*; do
    case ${fd##*/} in [012]) continue ;; esac
    if [ "$fd" -ef %s ]; then flock -w 5 "${fd##*/}"; break; fi
done 2>/dev/null]]

local function append_to(path, compose)
    local input = require "slate.base.input"
    local kind = input.kind(path)
    if kind == "other" or kind == "socket" then
        return nil, ("cannot write %s: %s"):format(path, input.NOT_REGULAR)
    end
    local file, problem = open_to_append(path)
    if not file then
        return nil, "cannot write " .. problem
    end
    local shell = require "slate.base.shell"
    shell.run(LOCK:format(shell.word(path)))
    local ok
    ok, problem = file:write(compose(kind ~= "device" and file:read("a") or "")) -- a device may have no end
    if ok then
        ok, problem = file:flush()
    end
    file:close()
    return ok and true or nil, not ok and ("cannot write %s: %s"):format(path, problem) or nil
end

-- The author of changes: user@host, or the one of these that is known.
local function author()
    local pipe <close> = io.popen("uname -n; id -un 2>/dev/null")
    local host, account = pipe and pipe:read("l"), pipe and pipe:read("l")
    local user = os.getenv("USER") or os.getenv("LOGNAME") or account
    return user and host and user .. "@" .. host or user or host
end

--- The record at a path: who, read, which returns its text, and append(compose), which calls compose with the record's
-- text and appends the line that compose returns. append returns true, or nil and a message. It runs in a coroutine:
-- Lua raises an interrupt (Ctrl-C) only in the main one, so a change is recorded before the program ends.
function M.new(path)
    local function append(compose)
        if not path then
            return nil, "there is no place for a record of changes: set HOME or SLATE_AUDIT"
        end
        return coroutine.wrap(append_to)(path, compose)
    end
    return { append = append, who = author(), read = function() return M.text(path) end }
end

return M
