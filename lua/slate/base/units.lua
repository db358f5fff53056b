-- SPDX-License-Identifier: BSD-3-Clause
--- Numbers as people read and write them: bytes, durations, rates, shares, server addresses.
local M = {}

local SCALES <const> = { "", "K", "M", "G", "T", "P", "E" }
M.DEFAULT_PORT = 11211

local function scaled(value, base, limit)
    local step = 1
    while math.abs(value) >= limit and step < #SCALES do
        value, step = value / base, step + 1
    end
    return value, SCALES[step]
end

--- Bytes in binary units: 96 -> "96", 1184 -> "1184", 67108864 -> "64M".
-- Chunk sizes are kept exact up to 9999. Absent (nil) is "-".
function M.bytes(n)
    if not n then
        return "-"
    end
    local value, unit = n, ""
    if math.abs(n) >= 10000 then
        value, unit = scaled(n, 1024, 1024)
    end
    local short = ("%.1f"):format(value):gsub("%.0$", "")
    return short .. unit
end

--- A whole number with its noun: plural(1, "page") is "1 page", plural(2, "class", "classes") "2 classes".
function M.plural(n, one, many)
    return ("%.0f %s"):format(n, n == 1 and one or many or one .. "s")
end

--- A count, whole up to 99999, then in thousands: 1234567 -> "1235K".
function M.count(n)
    if not n then
        return "-"
    end
    if math.abs(n) < 100000 then
        return ("%d"):format(math.floor(n + 0.5))
    end
    local value, unit = scaled(n, 1000, 10000)
    return ("%.0f%s"):format(value, unit)
end

--- A rate per second: one decimal under ten, whole above.
function M.rate(n)
    if not n then
        return "-"
    end
    if n ~= 0 and math.abs(n) < 9.95 then
        return ("%.1f"):format(n)
    end
    return M.count(n)
end

--- A share from 0 to 1 as per cent.
function M.percent(ratio, decimals)
    if not ratio then
        return "-"
    end
    return ("%." .. (decimals or 0) .. "f%%"):format(ratio * 100)
end

--- Seconds as the two largest units: 612 -> "10m12", 90000 -> "1d01".
function M.age(seconds)
    if not seconds then
        return "-"
    end
    local s = math.floor(seconds + 0.5)
    if s == 0 and seconds > 0 then
        return "<1s"
    elseif s < 60 then
        return s .. "s"
    elseif s < 3600 then
        return ("%dm%02d"):format(s // 60, s % 60)
    elseif s < 86400 then
        return ("%dh%02d"):format(s // 3600, s % 3600 // 60)
    end
    return ("%dd%02d"):format(s // 86400, s % 86400 // 3600)
end

local DURATION_UNITS <const> = { [""] = 1, ms = 0.001, s = 1, m = 60, h = 3600, d = 86400 }

--- Reads a duration: "2", "0.5", "250ms", "10s", "5m", "1h", "1d". Returns seconds, or nil and a message.
function M.parse_duration(text)
    local number, unit = text:match("^(%d*%.?%d+)(%a*)$")
    local factor = number and DURATION_UNITS[unit]
    if not factor then
        return nil, ("'%s' is not a duration: write a number and ms, s, m, h or d, such as 250ms or 10s"):format(text)
    end
    return tonumber(number) * factor
end

--- Reads a whole number from `least` to `most` (both optional). Returns it, or nil and a message.
function M.parse_whole(text, least, most)
    local n = text:match("^%-?%d+$") and math.tointeger(tonumber(text))
    if not n then
        return nil, ("'%s' is not a whole number"):format(text)
    elseif n < (least or n) or n > (most or n) then
        return nil, ("%d is out of range: %s"):format(n,
            most and ("%d to %d is allowed"):format(least, most) or ("at least %d is needed"):format(least))
    end
    return n
end

--- A reader of whole numbers from `least` to `most`, for options: M.parse_whole with these bounds.
function M.whole(least, most)
    return function(text) return M.parse_whole(text, least, most) end
end

--- Reads a server's address: "host", "host:port", ":port" (of loopback), "[v6]:port", "v6", "tls://host:port",
-- "/path/to.sock" or "unix:/path".
-- Returns { path = } or { host =, port =, tls = true or nil }, each with `name` for messages; or nil and a message.
function M.parse_server(text)
    local behind_tls = text:match("^tls://([^/]*)$")
    if behind_tls then
        local server, message = M.parse_server(behind_tls)
        if server then
            server.tls, server.name = true, "tls://" .. server.name
        end
        return server, message
    end
    local path = text:match("^unix:(.+)$") or text:match("^(%.?%.?/.+)$")
    if path and path:find("%c") then
        return nil, ("'%s' is not a server: a path has no control characters"):format((text:gsub("%c", "?")))
    elseif path then
        return { path = path, name = path }
    end
    local host, rest = text:match("^%[([%x:.%%%w]+)%](.*)$")
    if not host and text:find("^[%x:.]*::[%x:.]*$") then -- IPv6 without brackets, and so without a port
        host, rest = text, ""
    elseif not host then
        host, rest = text:match("^([%w._-]*)(.*)$")
        host = host == "" and rest ~= "" and "127.0.0.1" or host
    end
    local port = rest == "" and M.DEFAULT_PORT or tonumber((rest or ""):match("^:(%d+)$"))
    if host == "" or not port then
        return nil, ("'%s' is not a server: write host:port, [v6address]:port or /path/to.sock"):format(text)
    end
    if port < 1 or port > 65535 then
        return nil, ("'%s' names port %d: ports go from 1 to 65535"):format(text, port)
    end
    return { host = host, port = port, name = (host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port) }
end

return M
