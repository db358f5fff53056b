-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl and slatetop on a cache server that does not let them in.
local server = require "support.server"

local LOGIN <const> = 77
local NOBODY <const> = 69

describe("a server that lets nobody in", function()
    local folder

    setup(function()
        folder = server.folder()
        server.write_file(folder .. "/users", "anna:secret\n")
        assert(os.execute(("chmod 755 %s; chmod 644 %s/users"):format(folder, folder)))
    end)
    teardown(function() server.remove_folder(folder) end)

    -- Exit status, and output.
    local function run(line)
        local _, _, code = os.execute(("timeout 300 %s >%s/said 2>&1 </dev/null"):format(line, folder))
        return code, server.read_file(folder .. "/said")
    end

    local function slatectl(address, environment)
        return run(("env %s build/bin/slatectl -s %s classes"):format(environment or "", address))
    end

    local function slatetop(address) return run(("build/bin/slatetop -b -n 1 %s"):format(address)) end

    for _, kind in ipairs(server.both()) do
        it("without a login is recognised, and the login named: " .. kind.name, function()
            local one = server.start({ binary = kind.binary, transport = "tcp", args = { "-Y", folder .. "/users" } })
            finally(function() one:stop() end)
            local code, said = slatectl(one.address)
            assert.equal(LOGIN, code, said)
            assert.truthy(said:find("the server wants a login: SLATE_AUTH_FILE names a file whose first line is "
                .. "user:password", 1, true), said)
            code, said = slatectl(one.address, "SLATE_AUTH_FILE=" .. folder .. "/users")
            assert.equal(0, code, said)
            code, said = slatetop(one.address)
            assert.not_equal(0, code)
            assert.truthy(said:find("it wants a login: start with -P FILE, ", 1, true), said)
        end)
    end

    it("because it speaks packets only sends nothing, and possible reasons are printed", function()
        local one = server.start({ transport = "tcp", args = { "-B", "binary" } })
        finally(function() one:stop() end)
        local code, said = slatectl(one.address)
        assert.equal(NOBODY, code, said)
        assert.truthy(said:find(" before it answered: does it want tls:// before its address, or does it speak the "
            .. "binary protocol alone (-S, -B binary)?", 1, true), said)
        code, said = slatetop(one.address)
        assert.not_equal(0, code)
        assert.truthy(said:find(" before it answered: does it want tls://, or the binary protocol", 1, true), said)
    end)
end)
