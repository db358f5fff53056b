-- SPDX-License-Identifier: BSD-3-Clause
--- Certificates and passwords of slatectl for servers, from the environment.
--
-- `SLATE_TLS_CA` names the file of the certificates to trust instead of the system's, `SLATE_TLS_CERT` and
-- `SLATE_TLS_KEY` our own, and `SLATE_AUTH_FILE` a file whose first line is `user:password`, as in memcached's
-- --auth-file, or `user:password:role`, as in slated's. No secret is on a command line.
local M = {}

local function read_password(path)
    local file <close>, problem = require("slate.base.input").open(path)
    local line = file and file:read("l")
    local user, password = (line or ""):match("^([^:]+):(.*)$")
    local before, role = (password or ""):match("^(.*):([^:]*)$")
    if role == "read" or role == "write" or role == "admin" then
        password = before
    end
    if not user then
        return nil, ("SLATE_AUTH_FILE: %s"):format(problem or path .. " does not begin with user:password"), "input"
    end
    return user, password
end

--- The files of certificates and keys: { ca_file, cert_file, key_file }, each nil when it is not set; without
-- `SLATE_TLS_KEY` the key is in the file of the certificate. environment: such as os.getenv.
function M.tls_files(environment)
    local function file(name)
        local path = environment(name)
        return path ~= "" and path or nil
    end
    local cert = file("SLATE_TLS_CERT")
    return { ca_file = file("SLATE_TLS_CA"), cert_file = cert, key_file = file("SLATE_TLS_KEY") or cert }
end

--- The options that `slate.wire.client.connect` needs: { tls, user, password }; or nil, message, "input". environment:
-- such as os.getenv.
function M.options(environment)
    local options = { tls = M.tls_files(environment) }
    for _, file in pairs(options.tls) do
        local problem = require("slate.base.input").problem(file)
        if problem then
            return nil, "TLS: cannot read " .. problem, "input"
        end
    end
    local path = environment("SLATE_AUTH_FILE")
    if path and path ~= "" then
        local user, password, code = read_password(path)
        if not user then
            return nil, password, code
        end
        options.user, options.password = user, password
    end
    return options
end

return M
