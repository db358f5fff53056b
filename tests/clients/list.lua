-- SPDX-License-Identifier: BSD-3-Clause
--- The programs of this folder for stock clients: how each is run, and the packages that this machine lacks.
--
--     for _, client in ipairs(require("clients.list").PLAIN) do
--         print(client.name, client.lacks() or client.command("127.0.0.1", 11211))
--     end
local M = {}

local FETCHED <const> = "build/clients"
local JAR <const> = FETCHED .. "/spymemcached-2.12.3.jar"
local PYTHON <const> = FETCHED .. "/python/bin/python"

local function tried(command)
    return (os.execute(command .. " >/dev/null 2>&1"))
end

-- A client: the words before the address and those between address and login; modules that must load before it can run.
local function client(name, least, before, behind, test)
    return {
        name = name,
        --- The least number of its checks.
        least = least,
        --- nil, or the reason why the client cannot run here.
        lacks = function()
            return not tried(test) and name .. " is not here; make test-clients fetches it where its language's tool is"
                or nil
        end,
        command = function(host, port, user, password)
            return table.concat({ before, host, port, behind, user or "", password or "" }, " ")
        end,
    }
end

local NODE <const> = "NODE_PATH=" .. FETCHED .. "/node_modules node tests/clients/javascript_basic.js "
local JAVA <const> = "java -cp " .. JAR .. " tests/clients/SpymemcachedBasic.java"

local function node_test(module)
    return ("command -v node && test -d %s/node_modules/%s"):format(FETCHED, module)
end

local dalli = client("dalli (Ruby)", 25, "ruby tests/clients/dalli_basic.rb", "", "ruby -e 'require \"dalli\"'")
local memjs = client("memjs (JavaScript)", 20, NODE .. "memjs", "", node_test("memjs"))
local bmemcached = client("python-binary-memcached", 28, PYTHON .. " tests/clients/bmemcached_basic.py", "",
    PYTHON .. " -c 'import bmemcached'")

local function php(protocol)
    return client("PHP's memcached, " .. protocol, 30, "php tests/clients/php_basic.php", protocol,
        "php -r 'exit(extension_loaded(\"memcached\") ? 0 : 1);'")
end

local function java(protocol)
    return client("spymemcached (Java), " .. protocol, 30, JAVA, protocol, "command -v java && test -e " .. JAR)
end

--- Without a login.
M.PLAIN = { dalli, php("text"), php("binary"), memjs, client("memcached (JavaScript)", 29, NODE .. "memcached", "",
    node_test("memcached")), java("text"), java("binary"), bmemcached,
    client("gomemcache (Go)", 25, FETCHED .. "/gomemcache", "", "test -x " .. FETCHED .. "/gomemcache") }
--- Clients of the binary protocol that log in.
M.WITH_LOGIN = { dalli, php("binary"), memjs, java("binary"), bmemcached }

return M
