-- SPDX-License-Identifier: BSD-3-Clause
--- TLS over a connected socket, by LuaSec (Debian: lua-sec), which is loaded only for TLS.
-- The server's certificate is verified, and must be for the host of the address, unless `verify` is false.
local clock = require "slate.base.clock"
local gather = require "slate.base.gather"
local together = require "slate.wire.together"

local M = {}

local SYSTEM_CERTIFICATES <const> = "/etc/ssl/certs"
local ALTERNATIVE_NAMES <const> = "2.5.29.17"

-- True if a name of a certificate is for a host: "*.example.org" stands for one label before "example.org".
local function matches(pattern, host)
    pattern, host = pattern:lower(), host:lower()
    if pattern:sub(1, 2) == "*." then
        return host:match("^[^.]+(%..+)$") == pattern:sub(2)
    end
    return pattern == host
end

local function names_of(certificate)
    local names = {}
    local alternatives = (certificate:extensions() or {})[ALTERNATIVE_NAMES]
    for _, kind in ipairs({ "dNSName", "iPAddress" }) do
        for _, name in ipairs(alternatives and alternatives[kind] or {}) do
            names[#names + 1] = name
        end
    end
    if not alternatives then
        for _, part in ipairs(certificate:subject()) do
            names[#names + 1] = part.name == "commonName" and part.value or nil
        end
    end
    return names
end

--- True if a certificate with these names is for this host, a name or an address. Its alternative names count; its
-- common name only if it has none.
function M.is_for(names, host)
    return gather.any(names, function(name) return matches(name, host) end)
end

local function shake_hands(connection, deadline_s)
    while true do
        local left_s = math.max(0, deadline_s - clock.steady_s())
        connection:settimeout(0)
        local ok, problem = connection:dohandshake()
        if ok then
            return true
        elseif left_s == 0 or problem ~= "wantread" and problem ~= "wantwrite" then
            return nil, (problem == "timeout" or left_s == 0) and "no answer in time" or problem
        end
        together.select({ connection }, problem == "wantwrite" and { connection } or nil, left_s)
    end
end

local function parameters(options)
    local verify = options.verify ~= false
    return {
        mode = "client", protocol = "any", options = { "all", "no_sslv2", "no_sslv3", "no_tlsv1", "no_tlsv1_1" },
        verify = verify and "peer" or "none", cafile = options.ca_file,
        capath = verify and not options.ca_file and SYSTEM_CERTIFICATES or nil,
        certificate = options.cert_file, key = options.key_file,
    }
end

--- Speaks TLS on a connected socket of luasocket, which it then owns; on failure the socket is closed. host: of the
-- server's address. options: `ca_file` (instead of the system's certificates), `cert_file` and `key_file` (ours, if the
-- server requires one), `server_name` (if the certificate is for a name other than the host), `verify`. deadline_s: a
-- moment of `clock.steady_s`. Returns a socket with the same methods; or nil, message, "missing" without LuaSec, else
-- "connect".
function M.wrap(socket, host, options, deadline_s)
    local found, ssl = pcall(require, "ssl")
    if not found then
        socket:close()
        return nil, "TLS needs LuaSec for Lua 5.4, which is not installed (Debian: apt install lua-sec)", "missing"
    end
    local connection, problem = ssl.wrap(socket, parameters(options))
    if not connection then
        socket:close()
        return nil, "TLS: " .. tostring(problem), "connect"
    end
    local name = options.server_name or host
    if not name:find(":", 1, true) and not name:find("^[%d.]+$") then
        connection:sni(name)
    end
    local ok
    ok, problem = shake_hands(connection, deadline_s)
    if ok and options.verify ~= false and not M.is_for(names_of(connection:getpeercertificate()), name) then
        ok, problem = nil, "the server's certificate is not for " .. name
    end
    if not ok then
        connection:close()
        return nil, "TLS: " .. tostring(problem), "connect"
    end
    return connection
end

return M
