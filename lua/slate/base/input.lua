-- SPDX-License-Identifier: BSD-3-Clause
--- Files that an operator names, opened without an endless wait.
--
-- Opening a FIFO waits for a writer, and a device such as /dev/zero may have no end. So this module opens only regular
-- files, and descriptors that the program inherited: a shell's <(COMMAND) is /dev/fd/63, standard input is /dev/stdin.
local M = {}

M.FIRST_BYTE_S = 30 -- how long a pipe may take until its first byte: enough for a remote login
M.NOT_REGULAR = "it is not a regular file"

local KINDS <const>, ENOENT <const> = { [0] = "file", "folder", "device", "socket", "other" }, 2

--- The kind of a path: "file" (a regular one), "folder", "device" (of characters), "socket" or "other", such as a FIFO;
-- nil if the path does not exist. If it exists and is no folder, this starts a shell, which takes a millisecond.
function M.kind(path)
    local folder, _, problem = io.open(path .. "/.") -- this fails at once for a FIFO
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

-- The number of a descriptor from its path; nil if the path is not one of a descriptor.
local function descriptor_of(path)
    return path == "/dev/stdin" and 0 or tonumber(path:match("^/dev/fd/(%d+)$") or path:match("^/proc/self/fd/(%d+)$"))
end

-- True if a descriptor has bytes, or is at its end, within FIRST_BYTE_S.
local function is_ready(number)
    local one = { getfd = function() return number end, dirty = function() return false end }
    return #require("socket.core").select({ one }, nil, M.FIRST_BYTE_S) > 0
end

--- The reason that a read of the path could wait: a message that begins with the path; nil if none. A descriptor that
-- the program inherited is good once its first byte is there; this function waits for that byte. only_regular: refuse
-- descriptors, for a caller that opens the file twice.
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

--- Opens a regular file, or a descriptor that the program inherited, to read. A folder opens too, and its read fails.
-- only_regular: as of `problem`. Returns the file; or nil, a message that begins with the path, as that of io.open, and
-- the number of the error.
function M.open(path, only_regular)
    local problem = M.problem(path, only_regular)
    if problem then
        return nil, problem
    end
    return io.open(path, "rb")
end

local PIECE_BYTES <const> = 1 << 16

--- Iterates over the lines of a handle in bounded memory. It yields each line without its newline, and true if the line
-- is longer than most_bytes: then the line is "".
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

--- Reads a file, opened by `open`; at most most_bytes if given. Returns the text, "" if the file is empty; or nil, a
-- message that begins with the path, and the number of the error. only_regular: as of `problem`.
function M.read(path, most_bytes, only_regular)
    local file <close>, problem, number = M.open(path, only_regular)
    if not file then
        return nil, problem, number
    end
    local text, unreadable = file:read(most_bytes or "a")
    if unreadable then -- a folder opens, but its read fails
        return nil, ("%s: %s"):format(path, unreadable)
    end
    return text or ""
end

return M
