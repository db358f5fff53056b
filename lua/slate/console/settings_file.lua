-- SPDX-License-Identifier: BSD-3-Clause
--- A file of settings: "name = value" a line, "#" begins a comment. Pure but for `read`.
local M = {}

local MOST_BYTES <const> = 64 * 1024

--- Hands every setting of a text to take(name, value), until one is refused: take then returns nil and a message.
--- Returns true; or nil and a message with the path and the number of the wrong line.
function M.each(text, path, take)
    local number = 0
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        number, line = number + 1, line:match("^%s*(.-)%s*$")
        if line ~= "" and line:sub(1, 1) ~= "#" then
            local name, value = line:match("^(.-)%s*=%s*(.*)$")
            local ok, problem
            if name then
                ok, problem = take(name, value)
            else
                problem = ("a setting is 'name = value', not '%.40s'"):format(line)
            end
            if not ok then
                return nil, ("%s:%d: %s"):format(path, number, problem)
            end
        end
    end
    return true
end

--- The text of a file; or nil, a message, and true if the file is missing. files: slate.console.files.
function M.read(files, path)
    local text, problem, is_missing = files.read(path, MOST_BYTES + 1)
    if text and #text > MOST_BYTES then
        text, problem = nil, "more than 64 KiB"
    end
    if not text then
        return nil, ("cannot read %s: %s"):format(path, problem), is_missing
    elseif text:find("\0", 1, true) then
        return nil, ("cannot read %s: not a text"):format(path)
    end
    return text
end

return M
