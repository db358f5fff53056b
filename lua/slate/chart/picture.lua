-- SPDX-License-Identifier: BSD-3-Clause
--- Charts in files: drawn into a file beside the wanted one, which only a finished chart replaces.
-- Every function returns true, or nil, message and code.
local chart = require "slate.chart.draw"

local M = {}

--- Writes a file directly; a failure may leave a part of it.
function M.write_file(path, text)
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

-- Replaces a file if `write`, called with the path of an unfinished file, succeeds.
local function replace_file(path, write)
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

--- Writes text to a file, which it replaces only when the text is complete.
function M.save_text(path, text)
    return replace_file(path, function(unfinished) return M.write_file(unfinished, text) end)
end

--- Draws a figure of slate.chart.draw into a file. options: as for chart.write; for terminal "text", as for
-- slate.chart.text.
function M.save(path, figure, options)
    if options.terminal == "text" then
        return M.save_text(path, chart.text(figure, options))
    end
    return replace_file(path, function(unfinished)
        local ok, message, code = M.write_file(unfinished, "") -- reports why a write fails, as gnuplot would not
        if not ok then
            return nil, message, code
        end
        return chart.write(figure, unfinished, options)
    end)
end

return M
