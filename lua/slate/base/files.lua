-- SPDX-License-Identifier: BSD-3-Clause
--- Writes files. Every function returns true, or nil, message and code.
local M = {}

--- Writes a text into a file; a failure may leave a part of the text.
function M.write(path, text)
    local file, problem = io.open(path, "w")
    if not file then
        return nil, "cannot write " .. problem, "output"
    end
    local ok, why = file:write(text)
    local closed, why_closed = file:close()
    if not (ok and closed) then
        return nil, ("cannot write %s: %s"):format(path, why or why_closed), "output"
    end
    return true
end

--- Replaces a file if `write`, called with the path of an unfinished file, succeeds.
function M.replace(path, write)
    local unfinished = path .. ".unfinished"
    local ok, message, code = write(unfinished)
    if ok then
        local renamed, why = os.rename(unfinished, path)
        if renamed then
            return true
        end
        ok, message, code = nil, ("cannot write %s: %s"):format(path, why), "output"
    end
    os.remove(unfinished)
    return ok, message, code
end

--- Replaces a file by a text, once the text is written whole.
function M.save(path, text)
    return M.replace(path, function(unfinished) return M.write(unfinished, text) end)
end

return M
