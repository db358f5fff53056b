-- SPDX-License-Identifier: BSD-3-Clause
-- slated as a program: its options, its output on the command line, its exit statuses and its manual pages.
local patience = require "support.patience"
local server = require "support.server"
local wire = require "support.wire"

local slated = server.slated()
local AS_ROOT <const> = server.USER ~= ""

local run = server.run_slated

local function assert_refused(words, pattern, status)
    local code, out, err = run(words)
    assert.equal(status or 64, code, words .. ": " .. err)
    assert.equal("", out)
    assert.truthy(err:find(pattern, 1, true), err)
    assert.equal(1, select(2, err:gsub("\n", "\n")), "not one line: " .. err)
end

describe("slated's command line", function()
    it("begins with the options of SLATED_OPTIONS, which the command line overrides", function()
        local one = server.start({ environment = { "SLATED_OPTIONS=-c 77 -o 'idle_timeout=9,no_hashexpand' -t 3" },
            args = { "-t", "2" } })
        finally(function() one:stop() end)
        local client = wire.connect(one.address)
        local _, settings = wire.stats(client, "settings")
        client:close()
        assert.same({ "77", "9", "2" }, { settings.maxconns, settings.idle_timeout, settings.num_threads })
        local code, _, err = run("", "SLATED_OPTIONS='-c many'")
        assert.equal(64, code)
        assert.truthy(err:find("-c wants a whole number", 1, true), err)
    end)

    it("names SLATED_OPTIONS in errors of its words, and in no others", function()
        local function first_words(given, words)
            local code, _, err = run(words or "", ("SLATED_OPTIONS='%s'"):format(given))
            assert.equal(64, code)
            assert.equal(1, select(2, err:gsub("\n", "")), err)
            return err:match("^slated: (SLATED_OPTIONS: %S+)") or err:match("^slated: (%S+)")
        end
        assert.equal("SLATED_OPTIONS: -c", first_words("-c many"))
        assert.equal("SLATED_OPTIONS: -c", first_words("-v -c", "-v")) -- the next word would be its value
        assert.equal("SLATED_OPTIONS: -o", first_words("-t 2 -o nosuch", "-c 5"))
        assert.equal("SLATED_OPTIONS: --nosuch", first_words("--nosuch"))
        assert.equal("SLATED_OPTIONS: --config", first_words("--config /nonexistent/file"))
        assert.equal("-c", first_words("-t 2", "-c many"))
        assert.equal("-?", first_words("-t 2", "-v?")) -- within a word of several letters
        assert.equal("--config", first_words("-t 2", "--config /nonexistent/file"))
    end)

    it("names every option of --describe in --help", function()
        local code, help = run("-h")
        assert.equal(0, code)
        for line in help:gmatch("[^\n]+") do
            assert.is_true(#line <= 80, "wider than a terminal: " .. line)
        end
        local _, rows = run("--describe")
        local count = 0
        for row in rows:gmatch("[^\n]+") do
            local option = row:match("^[^\t]+\t([^\t]+)")
            for word in option:gmatch("%-%-[%w-]+") do
                assert.truthy(help:find(word, 1, true), word)
                count = count + 1
            end
            local extended = option:match("^%-o (.+)")
            if extended then
                assert.truthy(help:find("-o " .. extended, 1, true), extended)
                count = count + 1
            end
        end
        assert.truthy(count > 90, "only " .. count .. " options were looked at")
    end)

    it("explains every option and every statistic without the text of another", function()
        local count = 0
        for _, option in ipairs({ "--describe", "--describe-counters" }) do
            local _, rows = run(option)
            for row in rows:gmatch("[^\n]+") do
                local help = row:match("([^\t]+)$")
                for _, leans in ipairs({ "^of ", "^the same", "^its? ", "^they ", "^such ", "^and ", "^likewise",
                    "^to expect", "^what it ", "^what they ", "^where it ", "^how long that", "^how far that",
                    "^how many of them", "^since ", "^from ", "of these", "^of those" }) do
                    assert.is_nil(help:find(leans), row)
                end
                count = count + 1
            end
        end
        assert.truthy(count > 300, "only " .. count .. " texts were looked at")
    end)

    it("says its version, memcached's, and its licence", function()
        local code, out = run("-V")
        assert.equal(0, code)
        assert.truthy(out:find("^slated %d+%.%d+%.%d+ %(memcached 1%.6%.45 compatible%)\n$"), out)
        code, out = run("--license")
        assert.equal(0, code)
        assert.equal(server.read_file("LICENSE"), out:sub(1, #server.read_file("LICENSE")))
        assert.truthy(out:find("libevent %d"))
    end)

    it("begins -h and -V with memcached's line when called memcached, as suites of clients require", function()
        local folder = server.folder()
        finally(function() server.remove_folder(folder) end)
        assert(os.execute(("ln -s \"$(realpath %s)\" %s/memcached"):format(server.quoted(slated), folder)))
        for _, words in ipairs({ "-h", "-V", "--help", "--version" }) do
            for _, call in ipairs({ folder .. "/memcached", ("cd %s && ./memcached"):format(folder),
                ("PATH=%s:$PATH memcached"):format(folder) }) do
                local said = server.capture(call .. " " .. words)
                assert.equal("memcached 1.6.45", said:match("^[^\n]*"))
                assert.truthy(said:find("\nslated %d"))
            end
        end
    end)

    it("lists its listeners in the given order", function()
        local list = { "127.0.0.1", "127.0.0.3", "127.0.0.2" }
        local one = server.start({ transport = "tcp", args = { "-l", list[2] .. "," .. list[3], "-v" } })
        finally(function() one:stop() end)
        local function told()
            local addresses = {}
            for address in one:log():gmatch("listening on tcp:([%d.]+):") do
                addresses[#addresses + 1] = address
            end
            return addresses
        end
        -- slated serves before it says so
        patience.wait_for("three listeners", function() return #told() >= #list end)
        assert.same(list, told())
    end)

    it("serves although words belong to no option and a list of -o is empty, as memcached does, and warns", function()
        local one = server.start({ args = { "word", "-t", "2", "another", "-o", "" } })
        finally(function() one:stop() end)
        patience.wait_for("the warning", function()
            return one:log():find('"word" belongs to no option; it and the words like it are ignored', 1, true)
        end)
    end)

    -- The arguments that charts and an operator of Kubernetes give their containers.
    local CHARTS <const> = {
        Loki = { args = { "-m 8192", "--extended=modern,track_sizes", "-I 5m", "-c 16384", "-v", "-u 11211", "-t 8" },
            maxbytes = "8589934592", item_size_max = "5242880", maxconns = "16384", num_threads = "8" },
        Mimir = { args = { "-m 512", "--extended=modern,track_sizes", "-I 15m", "-c 16384", "-v", "-u 11211" },
            maxbytes = "536870912", item_size_max = "15728640", maxconns = "16384", track_sizes = "yes" },
        ["jsonnet-libs"] = { args = { "-m 1024", "-I 1m", "-c 1024", "-v", "--extended=track_sizes,no_hashexpand" },
            maxbytes = "1073741824", item_size_max = "1048576", maxconns = "1024", track_sizes = "yes" },
        CloudPirates = { args = { "-m", "64", "-c", "1024", "-vv", "--max-item-size= 2m" },
            maxbytes = "67108864", item_size_max = "2097152", verbosity = "2" },
        ["memcached-operator"] = { args = { "-m", "64", "-c", "1024", "-t", "4", "-I", "1m", "-v", "-o", "modern" },
            maxbytes = "67108864", item_size_max = "1048576", maxconns = "1024", num_threads = "4" },
    }

    for name, chart in pairs(CHARTS) do
        it("serves with the words of a chart: " .. name, function()
            local args = table.move(chart.args, 1, #chart.args, 1, {})
            if AS_ROOT then -- containers are not root; memcached, too, refuses -u 11211 as root
                args[#args + 1] = "-uroot"
            end
            local one = server.start({ args = args })
            finally(function() one:stop() end)
            local client = wire.connect(one.address)
            local _, settings = wire.stats(client, "settings")
            client:close()
            for setting, value in pairs(chart) do
                assert.equal(setting ~= "args" and value or nil, settings[setting], setting)
            end
        end)
    end

    it("names the missing feature or file that an option needs", function()
        for words, missing in pairs({ ["-Z"] = "certificate", ["-S -U 11211"] = "login",
            ["-e /dev/shm/x --store=heap"] = "--store=slab", ["-o ext_path=/x:1g"] = "flash",
            ["-o proxy_config=x"] = "proxy" }) do
            assert_refused(words, missing)
        end
    end)

    it("wants -u as root, and a user that exists", function()
        if not AS_ROOT then
            pending("needs root")
            return
        end
        assert_refused("-p 0 -s /tmp/never", "must add '-u root' to start as root", 64)
        assert_refused("-s /tmp/never -u no-such-user", "can't find the user no-such-user to switch to", 67)
    end)

    it("names in one line the address that it could not bind", function()
        local folder = server.folder()
        assert_refused(("-s %s/absent/s %s"):format(folder, server.USER), folder .. "/absent/s", 71)
        server.remove_folder(folder)
    end)

    it("has the tables of its manual pages up to date", function()
        local _, _, code = os.execute("scripts/man-tables --check " .. server.quoted(slated))
        assert.equal(0, code)
    end)
end)

describe("slated's options", function()
    local rig = require("support.rig").new(after_each)
    local function setting(name)
        return rig.stats("settings")[name]
    end

    it("take effect and are shown by stats settings", function()
        rig.start("-m", "100", "-t", "2", "-I", "2m", "-C", "-M", "-a", "0770", "-f", "1.5", "-R", "5",
            "-o", "no_maxconns_fast,slab_automove=2,idle_timeout=30,hash_algorithm=murmur3,modern")
        for name, value in pairs({ maxbytes = "104857600", num_threads = "2", item_size_max = "2097152",
            cas_enabled = "no", evictions = "off", umask = "770", growth_factor = "1.50", reqs_per_event = "5",
            maxconns_fast = "no", slab_automove = "2", idle_timeout = "30", hash_algorithm = "xxh3" }) do
            assert.equal(value, setting(name), name)
        end
        assert.equal("770", server.capture("stat -c %a " .. server.quoted(rig.server.address)))
    end)

    it("are shown by config get and changed by config set within their limits", function()
        rig.start()
        assert.equal("OK", rig.ask("config set hot_lru_pct 30"))
        assert.equal("30", setting("hot_lru_pct"))
        assert.same({ "CONFIG hot_lru_pct 30 runtime", "END" }, rig.lines("config get hot*pct"))
        assert.same({ "CONFIG num_threads 4 startup", "END" }, rig.lines("config get num_threads"))
        for line, answer in pairs({
            ["config set hot_lru_pct 70"] = "must not exceed 80 together",
            ["config set hot_lru_pct x"] = "wants a whole number from 1 to 80",
            ["config set num_threads 2"] = "cannot change while the server runs",
            ["config set quux 2"] = "no such setting",
            ["config set"] = "usage: config set name value",
        }) do
            local got = rig.ask(line)
            assert.truthy(got:find("^CLIENT_ERROR ") and got:find(answer, 1, true), got)
        end
        assert.equal("30", setting("hot_lru_pct"))
    end)

    it("say which follow from others, and do not take those by name", function()
        rig.start()
        for name, why in pairs({ lru_segmented = "it shows whether the eviction policy has more than one queue",
            temp_lru = "it shows whether", detail_enabled = "it shows whether", oldest = "it shows when flush_all" }) do
            assert.matches(("^CONFIG %s %%w+ follows$"):format(name), rig.ask("config get " .. name))
            assert.equal("END", rig.connection:receive())
            local got = rig.ask(("config set %s 1"):format(name))
            assert.truthy(got:find(("CLIENT_ERROR %s cannot be changed: %s"):format(name, why), 1, true), got)
        end
        assert.equal("OK", rig.ask("config set policy lru"))
        assert.same({ "CONFIG lru_segmented no follows", "END" }, rig.lines("config get lru_segmented"))
    end)

    it("of slabs can only be given at the start where the store has none", function()
        rig.start("--store=heap")
        for _, line in ipairs(rig.lines("config get slab_*")) do
            assert.truthy(line == "END" or line:find(" startup$"), line)
        end
        local config = rig.stats("config")
        for name in pairs(config) do
            assert.falsy(name:find("^slab_"), name)
        end
        assert.equal("CLIENT_ERROR slab_automove_window needs --store=slab, this server has heap",
            rig.ask("config set slab_automove_window 20"))
    end)

    it("take one limit of memory by two names: config set in bytes, cache_memlimit in megabytes", function()
        rig.start()
        local config = rig.stats("config")
        assert.same({ "8388608", "bytes", "bytes" }, { config["maxbytes:min"], config["maxbytes:type"],
            config["maxbytes:unit"] })
        local most_bytes = math.tointeger(tonumber(config["maxbytes:max"]))
        for _, value in ipairs({ "2m", "8388607", "8", tostring(most_bytes + 1), "x" }) do
            local pattern = ('^CLIENT_ERROR maxbytes wants a number of bytes, or one with k, m, g or t, '
                .. 'from 8m to %%d+%%l?, auto or 1%%%% to 100%%%%, not "%s"'):format(value)
            assert.matches(pattern, rig.ask("config set maxbytes " .. value))
        end
        for _, line in ipairs({ "cache_memlimit 8", "config set maxbytes 8388608", "config set maxbytes 8m" }) do
            assert.equal("OK", rig.ask(line))
            assert.equal("8388608", setting("maxbytes"))
        end
        for _, line in ipairs({ "cache_memlimit 256", "config set maxbytes 256m" }) do
            assert.equal("OK", rig.ask(line))
            assert.equal("268435456", setting("maxbytes"))
        end
        assert.equal("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m", rig.ask("cache_memlimit 7"))
        local most_megabytes = most_bytes // (1 << 20)
        assert.equal("OK", rig.ask("cache_memlimit " .. most_megabytes))
        assert.matches("^MEMLIMIT_ADJUST_FAILED", rig.ask("cache_memlimit " .. most_megabytes + 1))
    end)

    it("raise the memory to the machine's, or to four times that of the start", function()
        local kib = tonumber(server.read_file("/proc/meminfo"):match("MemTotal:%s*(%d+) kB"))
        rig.start("-m", "3")
        -- as far as references of 32 bits reach
        assert.equal("OK", rig.ask("cache_memlimit " .. math.min(kib // 1024, 30000)))
    end)
end)
