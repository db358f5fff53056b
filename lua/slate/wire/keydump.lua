-- SPDX-License-Identifier: BSD-3-Clause
--- Lists the keys of a server, one by one, from `lru_crawler metadump`; never more than a limit.
local clock = require "slate.base.clock"

local M = {}

local BUSY_PAUSE_S <const>, BUSY_MOST_S <const> = 0.05, 60
local ENDS <const> = { END = true }

--- One line of a dump: { key (escaped as in a URI), class, size_bytes, expires_s (a moment, or absent),
-- last_access_s (a moment), fetched }; nil for another line. Pure.
function M.parse(line)
    local key = line:match("^key=(%S+)")
    if not key then
        return nil
    end
    local fields = {}
    for name, value in line:gmatch("%f[%l](%l+)=(%S+)") do
        fields[name] = value
    end
    local expires_s = math.tointeger(tonumber(fields.exp))
    return {
        key = key, class = math.tointeger(tonumber(fields.cls)), size_bytes = math.tointeger(tonumber(fields.size)),
        expires_s = expires_s and expires_s >= 0 and expires_s or nil,
        last_access_s = math.tointeger(tonumber(fields.la)), fetched = fields.fetch == "yes",
    }
end

--- Replaces %3A and other escapes in a key of a dump by their bytes.
function M.unescaped(key)
    return (key:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- Repeats a walk over all keys while the server is busy, at most a minute. A memcached walks for one client at a time,
-- or for itself; meanwhile it answers BUSY. walk() returns a value, or nil, message, code; so does this function.
function M.when_free(walk)
    local until_s = clock.steady_s() + BUSY_MOST_S
    while true do
        local value, message, code = walk()
        if value or code ~= "busy" or clock.steady_s() >= until_s then
            return value, message, code
        end
        clock.sleep(BUSY_PAUSE_S)
    end
end

--- Dumps keys and calls on_key for each. options: limit (most keys read), class (only this one).
-- Closes the client: the unread lines of a dump would come before the next reply.
-- Returns nil and nil, or message and code; then the number of keys read.
function M.each(client, options, on_key)
    local read = 0
    local refused, code
    local function on_line(line)
        local key = M.parse(line)
        if key then
            read = read + 1
            on_key(key)
            return read < options.limit
        end
        if line:find("^BADCLASS") then
            refused, code = "the server answered: " .. line, "no"
            return false
        end
        return true
    end
    local command = "lru_crawler metadump " .. (options.class or "all")
    local ended, message, line_code = M.when_free(function() return client:each_line(command, ENDS, on_line) end)
    client:close()
    if not ended then
        return message, line_code, read
    end
    return refused, code, read
end

return M
