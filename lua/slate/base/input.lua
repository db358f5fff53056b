-- SPDX-License-Identifier: BSD-3-Clause
--- Files that an operator names, opened without a wait for ever.
--
-- Opening a FIFO waits for a writer, and a device such as /dev/zero may have no end. So regular files alone are opened,
-- and descriptors that the program was started with: a shell's <(COMMAND) is /dev/fd/63, standard input is /dev/stdin.
-- @module slate.base.input
local M = {}

M.FIRST_BYTE_S = 30 -- how long a pipe may take until its first byte: a remote login fits into that
M.NOT_REGULAR = "it is not a regular file"

local KINDS <const>, ENOENT <const> = { [0] = "file", "folder", "device", "socket", "other" }, 2

--- What stands at a path: "file" (a regular one), "folder", "device" (of characters), "socket" or "other", such as a
-- FIFO; nil: nothing. Starts a shell, which takes a millisecond, for what is there and no folder.
function M.kind(path)
    local folder, _, problem = io.open(path .. "/.") -- of a FIFO that fails at once
    if folder and path ~= "" then
        folder:close()
        return "folder"
    elseif problem == ENOENT then
        return nil
    end
    local shell = require "slate.base.shell"
    local _, how, code = shell.run(("n=0; for is in -f -d -c -S -e; do [ $is %s ] && exit $n; n=$((n + 1)); done; "
        .. "exit $n"):format(shell.word(path)))
    return how == "exit" and KINDS[code] or nil
end

-- A descriptor's number by its path, where that is no file of its own.
local function descriptor_of(path)
    return path == "/dev/stdin" and 0 or tonumber(path:match("^/dev/fd/(%d+)$") or path:match("^/proc/self/fd/(%d+)$"))
end

-- Does a descriptor have bytes, or an end, in time?
local function is_ready(number)
    local one = { getfd = function() return number end, dirty = function() return false end }
    return #require("socket.core").select({ one }, nil, M.FIRST_BYTE_S) > 0
end

--- Why the file at a path would be waited for: a message that begins with the path; nil: it would not. A descriptor
-- that the program was started with is good once its first byte is there, for which this waits.
-- @tparam string path
-- @tparam ?boolean only_regular no descriptor: the file is opened twice
function M.problem(path, only_regular)
    local kind = M.kind(path)
    if not kind or kind == "file" or kind == "folder" then
        return nil
    end
    local number = not only_regular and descriptor_of(path)
    if not number then
        return ("%s: %s"):format(path, M.NOT_REGULAR)
    end
    return not is_ready(number) and ("%s: no byte came within %d s"):format(path, M.FIRST_BYTE_S) or nil
end

--- Opens a regular file, or a descriptor that the program was started with, to read. A folder opens too, and fails when
-- it is read.
-- @tparam string path
-- @tparam ?boolean only_regular as of `problem`
-- @treturn[1] file
-- @treturn[2] nil
-- @treturn[2] string message, which begins with the path, as that of io.open
-- @treturn[2] ?integer the number of the error, of io.open
function M.open(path, only_regular)
    local problem = M.problem(path, only_regular)
    if problem then
        return nil, problem
    end
    return io.open(path, "rb")
end

local PIECE_BYTES <const> = 1 << 16

--- The lines of a handle, of which none takes more memory than it may. An iterator of a line without its newline, and
-- whether it was longer than that: then it is "".
function M.lines(handle, most_bytes)
    local text, at = "", 1
    return function()
        local parts, bytes = {}, 0
        while text do
            local ends = text:find("\n", at, true)
            parts[#parts + 1], bytes = text:sub(at, ends and ends - 1), bytes + (ends or #text + 1) - at
            if bytes > most_bytes then
                parts = {}
            end
            if ends then
                at = ends + 1
                return table.concat(parts), bytes > most_bytes
            end
            text, at = handle:read(PIECE_BYTES), 1
        end
        if bytes > 0 then
            return table.concat(parts), bytes > most_bytes
        end
    end
end

--- Reads a file as `open` opens it.
-- @tparam string path
-- @tparam ?integer most_bytes no more are read than these; all without it
-- @treturn[1] string its text, "" of an empty one
-- @treturn[2] nil
-- @treturn[2] string message, which begins with the path
-- @treturn[2] ?integer the number of the error, of io.open
function M.read(path, most_bytes)
    local file, problem, number = M.open(path)
    if not file then
        return nil, problem, number
    end
    local text, unreadable = file:read(most_bytes or "a")
    file:close()
    if unreadable then -- a folder opens, and fails here
        return nil, ("%s: %s"):format(path, unreadable)
    end
    return text or ""
end

return M
