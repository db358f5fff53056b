-- SPDX-License-Identifier: BSD-3-Clause
-- slated with a file of options, and --check-config, which says whether a server would accept the file.
local server = require "support.server"
local wire = require "support.wire"
require "support.world"

describe("slated --config", function()
    local folder, conf

    before_each(function()
        folder = server.folder()
        conf = folder .. "/slated.conf"
    end)
    after_each(function() server.remove_folder(folder) end)

    it("serves with a file's options, which those of the command line outdo", function()
        server.write_file(conf, "# a cache\nconn-limit = 77\nidle_timeout = 9\n-t 3\nno_lru_crawler\n")
        local one = server.start({ args = { "--config", conf, "-t", "2" } })
        finally(function() one:stop() end)
        local client = wire.connect(one.address)
        local _, settings = wire.stats(client, "settings")
        client:close()
        assert.same({ "77", "9", "2", "no" },
            { settings.maxconns, settings.idle_timeout, settings.num_threads, settings.lru_crawler })
    end)

    it("accepts a memcached.conf as Debian ships it", function()
        server.write_file(conf, "# memcached default config file\n-d\n\nlogfile /var/log/memcached.log\n\n# -v\n-m 64\n"
            .. "-p 11211\n-u root\n-l 127.0.0.1\n# -c 1024\n-P /run/memcached/memcached.pid\n")
        local code, out, err = server.run_slated("--check-config --config " .. conf)
        assert.same({ 0, "slated: these options are good\n" }, { code, out:match("^[^\n]*\n") })
        assert.equal("slated: warn: logfile is accepted without effect: the log goes to standard error\n", err)
        server.write_file(conf, "logfile\n")
        code, out, err = server.run_slated("--check-config --config " .. conf)
        assert.equal("", out)
        assert.equal(64, code)
        assert.equal(("slated: %s:1: logfile is no option of a file\n"):format(conf), err)
    end)

    it("may be named by SLATED_OPTIONS, as in a container", function()
        server.write_file(conf, "threads = none\n")
        local code, _, err = server.run_slated("--check-config", "SLATED_OPTIONS='--config " .. conf .. "'")
        assert.equal(64, code)
        assert.equal(("slated: %s:1: threads wants a whole number from 1 to 128, not \"none\"\n"):format(conf), err)
    end)

    it("is checked without serving, and so are the files that it names", function()
        server.write_file(conf, "unix-socket = " .. folder .. "/socket\n")
        local good, printed, warned = server.run_slated("--check-config --config " .. conf)
        assert.same({ 0, "slated: these options are good\n", "" }, { good, printed:match("^[^\n]*\n"), warned })
        assert.is_nil(io.open(folder .. "/socket"), "no socket was made")
        for text, said in pairs({
            ["auth-file = " .. folder .. "/none"] = folder .. "/none",
            ["slab_automove = lua:no_such_policy"] = "no policy no_such_policy",
            ["user = no-such-user"] = "can't find the user no-such-user",
            ["max-item-size = 512m"] = "must be at most half",
        }) do
            server.write_file(conf, text .. "\n")
            local code, out, err = server.run_slated("--check-config --config " .. conf)
            assert.equal(64, code, text)
            assert.equal("", out)
            assert.truthy(err:find(said, 1, true), err)
            assert.equal(1, select(2, err:gsub("\n", "\n")), "not one line: " .. err)
        end
    end)

    it("lets a simulation read the server's options of a file", function()
        server.write_file(conf, "policy = lru\nmemory-limit = 8\n")
        server.write_file(folder .. "/trace.csv", ("0,key%d,4,100,1,get,0\n"):rep(3):gsub("%%d", "1"))
        local code, out, err = server.run_slated(("--simulate %s/trace.csv --config %s"):format(folder, conf))
        assert.equal(0, code, err)
        assert.truthy(out:find("lru", 1, true), out)
    end)
end)
