-- SPDX-License-Identifier: BSD-3-Clause
--- Numbers as people read and write them: bytes, durations, rates, shares, server addresses.
local M = {}

local SCALES <const> = { "", "K", "M", "G", "T", "P", "E" }
local BYTES_WHOLE_FROM <const>, COUNT_WHOLE_FROM <const> = 999.95, 99.95
local BYTES_MOST <const>, COUNT_MOST <const>, AGE_MOST_S <const> = 999.5 * 2.0 ^ 60, 999.5e18, 1e9
local DAYS_ALONE <const> = 100
M.DEFAULT_PORT = 11211

local function scaled(value, base, limit)
    local step = 1
    while math.abs(value) >= limit and step < #SCALES do
        value, step = value / base, step + 1
    end
    return value, SCALES[step]
end

-- At most one decimal; none if it is zero or the number is long without it.
local function short(value, whole_from)
    local text = (math.abs(value) < whole_from and "%.1f" or "%.0f"):format(value)
    return (text:gsub("%.0$", ""))
end

--- Bytes for a column of six characters, as slatetop has them: 96 -> "96", 1184 -> "1.2Ki", 67108864 -> "64Mi", which
-- no count looks like. Absent (nil) is "-". All other texts have M.bytes_in_words.
function M.bytes(n)
    if not n then
        return "-"
    elseif math.abs(n) < 1023.5 then
        return short(n, BYTES_WHOLE_FROM)
    elseif math.abs(n) >= BYTES_MOST then
        return ">999Ei"
    end
    local value, unit = scaled(n, 1024, 1023.5)
    return short(value, COUNT_WHOLE_FROM) .. unit .. "i"
end

--- Bytes: "96 B", "616 KiB", "57.1 MiB". Absent (nil) is "-".
function M.bytes_in_words(n)
    local value, unit = scaled(n or 0, 1024, 1023.5)
    return not n and "-" or ("%s %s"):format(short(value, BYTES_WHOLE_FROM), unit == "" and "B" or unit .. "iB")
end

--- The size of a chunk, which is exact everywhere: "1184", "11104". Absent (nil) is "-".
function M.chunk(bytes)
    return bytes and ("%.0f"):format(bytes) or "-"
end

--- A whole number with its noun: plural(1, "page") is "1 page", plural(2, "class", "classes") "2 classes".
function M.plural(n, one, many)
    return ("%.0f %s"):format(n, n == 1 and one or many or one .. "s")
end

--- Where pages are, by the id that servers give it: "class 4"; 0 is "the pool", and -1 "any class".
function M.place(id)
    return id == 0 and "the pool" or id < 0 and "any class" or ("class %d"):format(id)
end

--- Classes by their ids: "class 4", "classes 4 and 17", "classes 4, 16 and 17".
function M.classes(ids)
    local list = #ids > 1 and table.concat(ids, ", ", 1, #ids - 1) .. " and " .. ids[#ids] or ids[1]
    return (#ids > 1 and "classes " or "class ") .. list
end

--- A count, whole up to 99999, then in thousands: 1234567 -> "1235K", 12345678 -> "12.3M". Six characters at most.
function M.count(n)
    if not n then
        return "-"
    elseif math.abs(n) < 99999.5 then
        return ("%d"):format(math.floor(n + 0.5))
    elseif math.abs(n) >= COUNT_MOST then
        return ">999E"
    end
    local value, unit = scaled(n, 1000, 9999.5)
    return short(value, COUNT_WHOLE_FROM) .. unit
end

--- A rate per second: one decimal under ten, unless that is zero; whole above. A small rate is not 0: "<0.1".
function M.rate(n)
    if not n then
        return "-"
    elseif n > 0 and n < 0.05 then
        return "<0.1"
    elseif math.abs(n) < 9.95 then
        return short(n, COUNT_WHOLE_FROM)
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

--- A share from 0 to 1 as per cent, without "%", for a column whose title says so: "91.8", "100". Less than all is not
-- "100", and a small share is not 0: "<0.1".
function M.share(ratio)
    if not ratio then
        return "-"
    end
    local percent = ratio * 100
    if percent > 0 and percent < 0.05 then
        return "<0.1"
    end
    return percent > 99.9 and percent < 100 and "99.9" or (percent == 0 or percent >= 100) and M.count(percent)
        or ("%.1f"):format(percent)
end

--- Seconds as the two largest units: 612 -> "10m12", 90000 -> "1d01"; days alone from a hundred on. Six characters at
-- most.
function M.age(seconds)
    if not seconds then
        return "-"
    elseif seconds > AGE_MOST_S then
        return ">30y"
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
    elseif s < DAYS_ALONE * 86400 then
        return ("%dd%02d"):format(s // 86400, s % 86400 // 3600)
    end
    return ("%dd"):format(s // 86400)
end

local DURATION_MOST_S <const> = 3650 * 86400
local DURATION_UNITS <const> = { [""] = 1, ms = 0.001, s = 1, m = 60, h = 3600, d = 86400 }

--- Reads a duration of at most 3650d: "2", "0.5", "250ms", "10s", "5m", "1h", "1d". Returns seconds, or nil and a
-- message.
function M.parse_duration(text)
    local number, unit = text:match("^([%d.]*%d)(%a*)$")
    local factor = tonumber(number) and DURATION_UNITS[unit]
    if not factor then
        return nil, ("'%s' is not a duration: write a number and ms, s, m, h or d, such as 250ms or 10s"):format(text)
    end
    local seconds = tonumber(number) * factor
    if seconds > DURATION_MOST_S then
        return nil, ("'%s' is too long: a duration has at most %dd"):format(text, DURATION_MOST_S // 86400)
    end
    return seconds
end

--- A part of a whole; nil if one is unknown, or the whole is nothing.
function M.ratio(part, whole)
    return part and whole and whole > 0 and part / whole or nil
end

--- Reads a decimal number such as "20", "0.5" or "-3". nil for all else, "0x10", "1e3" and "nan" too.
function M.parse_decimal(text)
    return text:find("^%-?%d*%.?%d*$") and tonumber(text) or nil
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

-- A word for a message. A text as long as a file is cut.
local MOST_SHOWN_BYTES <const> = 200
local function shown(text)
    return #text > MOST_SHOWN_BYTES and text:sub(1, MOST_SHOWN_BYTES) .. "..." or text
end

--- Reads a server's address: "host", "host:port", ":port" (on loopback), "[v6]:port", "v6", "tls://host:port",
-- "unix:path", or the path of a socket, which has a slash: "/run/one.sock", "run/one.sock".
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
    local path = text:match("^unix:(.+)$") or not text:find("^%a[%w+.-]*://") and text:match("^.*/.+$")
    if path and path:find("%c") then
        return nil, ("'%s' is not a server: a path has no control characters"):format((shown(text):gsub("%c", "?")))
    elseif path then
        return { path = path, name = path }
    end
    local host, port_text = text:match("^%[([%x:.%%%w]+)%](.*)$")
    if not host and text:find("::", 1, true) and text:find("^[%x:.]*$") then -- IPv6 without brackets, so without port
        host, port_text = text, ""
    elseif not host then
        host, port_text = text:match("^([%w._-]*)(.*)$")
        host = host == "" and port_text ~= "" and "127.0.0.1" or host
    end
    local port = port_text == "" and M.DEFAULT_PORT or tonumber((port_text or ""):match("^:(%d+)$"))
    if host == "" or not port then
        return nil, ("'%s' is not a server: write host:port, [v6address]:port, /path/to.sock, tls://host:port, "
            .. "dns:name:port or file:path"):format(shown(text))
    end
    if port < 1 or port > 65535 then
        return nil, ("'%s' names port %s: ports go from 1 to 65535"):format(shown(text), shown(port_text:sub(2)))
    end
    return { host = host, port = port, name = (host:find(":", 1, true) and "[%s]:%d" or "%s:%d"):format(host, port) }
end

--- A text without the blanks at its end. Cost: linear in its length; "%s+$" would start a match at each blank.
function M.trimmed(text)
    return text:match("^.*%S") or ""
end

return M
