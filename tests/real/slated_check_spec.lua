-- SPDX-License-Identifier: BSD-3-Clause
-- slated --check-config reports the errors in options that a start would report, and opens nothing.
local certificates = require "support.certificates"
local server = require "support.server"

local EX_USAGE <const> = 64
local GOOD <const> = "slated: these options are good\n"
local SLATED <const> = server.slated()

describe("slated --check-config", function()
    local folder

    setup(function()
        folder = server.folder()
        for _, name in ipairs({ "one", "two" }) do
            certificates.make(folder, name)
        end
        assert(os.execute(("cd %s && cat one.pem two.pem >mixed && { for i in $(seq 17); do cat one.pem; done; } >chain"
            .. " && head -c 300000 /dev/zero | tr '\\0' '#' >long && echo no users >users && echo text >file"
            .. " && openssl pkey -in one.key -aes128 -passout pass:secret -out locked.key 2>/dev/null")
            :format(folder)))
    end)
    teardown(function() server.remove_folder(folder) end)

    -- Status, standard output, standard error.
    local function run(words)
        local code, out, err = server.run_slated(words:gsub("FOLDER", folder) .. " " .. server.USER)
        return code, out:match("^[^\n]*\n") or "", err, out
    end

    local TLS <const> = "-p -1 -Z -o ssl_chain_cert=FOLDER/%s,ssl_key=FOLDER/%s"
    local BAD <const> = {
        { "-p -1 -l 0.0.0.0", "other machines can reach it" },
        { "-p -1 -l '*'", "other machines can reach it" },
        { "-p -1 -l 127.0.0.1 -l a..b", "cannot listen on a..b: " },
        { "-p -1 -l 192.0.2.1 --public", "cannot listen on 192.0.2.1 port 0: " },
        { "-p 0 -U -1 -l 192.0.2.1,role=read", "cannot listen on 192.0.2.1 port 0 by UDP: " },
        { "-s FOLDER/none/socket", "cannot listen on FOLDER/none/socket: No such file or directory" },
        { "-s FOLDER/file", "there is a file of that name, which is no socket" },
        { "-s FOLDER/" .. ("x"):rep(108), "the path of a UNIX socket has at most 107 bytes" },
        { "-p -1 -o takeover_socket=FOLDER/none/socket", "cannot listen for a takeover on FOLDER/none/socket: " },
        { "-p -1 -o takeover_socket=FOLDER/file", "which is no socket" },
        { "-p -1 -o metrics=0.0.0.0:1", "other machines can reach it" },
        { "-p -1 -o metrics=192.0.2.1:1 --public", "cannot listen on 192.0.2.1 port 1: " },
        { TLS:format("none.pem", "one.key"), "Error loading the certificate chain : FOLDER/none.pem: No such file" },
        { TLS:format("one.pem", "none.key"), "Error loading the key : FOLDER/none.key: No such file" },
        { TLS:format("one.pem", "two.key"), "Error loading the key : " },
        { TLS:format("one.pem", "locked.key"), "locked.key: it has a password, which slated cannot read" },
        { "-p -1 -Z -o ssl_chain_cert=FOLDER/one.pem",
            "one.pem: no key in it can be read; -o ssl_key names the key's file" },
        { TLS:format("file", "one.key"), "Error loading the certificate chain : FOLDER/file: " },
        { TLS:format("chain", "one.key"), "it has 17 certificates, more than 16" },
        { TLS:format("long", "one.key"), "Error loading FOLDER/long: it has more than 256 KiB" },
        { TLS:format("one.pem", "one.key") .. ",ssl_ca_cert=FOLDER/none", "Error loading the CA certificate : " },
        { TLS:format("one.pem", "one.key") .. ",ssl_ciphers=quux", "Error setting the provided cipher(s) : quux" },
        { "-p -1 -Y FOLDER/none", "cannot read FOLDER/none: No such file or directory" },
        { "-p -1 -Y FOLDER/users", "FOLDER/users, line 1: it does not begin with user:password" },
        { "-p -1 -o slab_automove=lua:no_such_policy", "no policy no_such_policy" },
        { "-p -1 --automove-record=FOLDER/none/record", "--automove-record FOLDER/none/record: No such file" },
        { "-p -1 -e FOLDER/none/items", "-e FOLDER/none/items: No such file or directory" },
        { "-p -1 -e FOLDER", "-e FOLDER: Is a directory" },
        { "-p -1 -o process_memory=24,read_buf_mem_limit=20", "process_memory of 24 MiB leaves " },
        { "-p -1 -o process_memory=10", "process_memory wants at least 24 megabytes" },
        { "-p -1 -l 127.0.0.1 -l proto[proxy]:127.0.0.1", "there is no proxy" },
    }

    for _, case in ipairs(BAD) do
        it("and a start find the same of " .. case[1]:sub(1, 90), function()
            local said = case[2]:gsub("FOLDER", (folder:gsub("%%", "%%%%")))
            local code, out, err = run("--check-config " .. case[1])
            assert.equal(EX_USAGE, code, err)
            assert.equal("", out)
            assert.truthy(err:find(said, 1, true), err)
            assert.equal(1, select(2, err:gsub("\n", "\n")), "not one line: " .. err)
            code, _, err = run(case[1])
            assert.truthy(code ~= 0 and code ~= 124, "it serves")
            assert.truthy(err:find(said, 1, true), err)
        end)
    end

    it("creates no missing file", function()
        local words = "-s FOLDER/socket -P FOLDER/pid -e FOLDER/items --automove-record=FOLDER/record "
            .. "-o takeover_socket=FOLDER/takeover,slab_automove=lua:ratio -S -d"
        assert.same({ 0, GOOD, "" }, { table.unpack({ run("--check-config " .. words) }, 1, 3) })
        for _, name in ipairs({ "socket", "pid", "items", "record", "takeover" }) do
            assert.is_nil(io.open(folder .. "/" .. name), name)
        end
    end)

    it("takes the options of a server that runs", function()
        local one = server.start({ transport = "tcp", args = { "-e", folder .. "/kept", "-o",
            "takeover_socket=" .. folder .. "/next" } })
        finally(function() one:stop() end)
        local words = ("--check-config -l %s -e FOLDER/kept -o takeover_socket=FOLDER/next"):format(one.address)
        assert.same({ 0, GOOD, "" }, { table.unpack({ run(words) }, 1, 3) })
        assert.same({ 0, GOOD, "" }, { table.unpack({ run(words .. " --takeover") }, 1, 3) })
        local client = one:connect()
        assert.truthy(client:set("still", "here"))
        client:close()
    end)

    -- README has the formula.
    it("prints the memory that the process needs", function()
        local function need_mib(words)
            local _, _, err, out = run("--check-config -p -1 " .. words)
            return assert(tonumber(out:match("the process needs at most (%d+) MiB")), err)
        end
        for words, want_mib in pairs({
            ["-m 64"] = 1.18 * (1.125 * 64 + 10 + 4 + 1),
            ["-m 1024 -t 8 -c 10240"] = 1.18 * (1.125 * 1024 + 10 + 8 + 10),
            [TLS:format("one.pem", "one.key") .. " -c 4096"] = 1.18 * (1.125 * 64 + 10 + 4 + 4096 * 96 / 1024),
        }) do
            local got_mib = need_mib(words)
            assert.is_true(math.abs(got_mib - want_mib) <= want_mib * 0.01 + 2, ("%s: %d"):format(words, got_mib))
        end
        assert.is_true(need_mib("-m 1024 -o read_buf_mem_limit=1") < need_mib("-m 1024"))
        for connections, want_mib in pairs({ [1024] = 1, [1025] = 2 }) do
            local _, _, _, out = run(("--check-config -p -1 -c %d"):format(connections))
            assert.truthy(out:find((", %d for %d connections,"):format(want_mib, connections), 1, true), out)
        end
    end)

    it("prints the limit of the process where that is less", function()
        for words, told in pairs({
            ["-m 1024 -o process_memory=200"] = "takes at most 200 MiB: -m 1024 as far as its other parts leave that",
            ["-o process_memory=100"] = "takes at most 100 MiB: -m 100 as far",
            ["-m 64 -o process_memory=300"] = "needs at most 1", -- below its own limit
        }) do
            local _, _, err, out = run("--check-config -p -1 " .. words)
            assert.truthy(out:find("the process " .. told, 1, true), out .. err)
        end
    end)

    it("takes less than 8 MiB for items beside a limit of the process that has room for them", function()
        local code, out, err = run("--check-config -p -1 -m 4 -o process_memory=100")
        assert.same({ 0, GOOD, "" }, { code, out, err })
    end)

    it("prints the warnings of a start", function()
        local code, out, err = run("--check-config -p -1 word -o hashpower=20")
        assert.same({ 0, GOOD }, { code, out })
        assert.truthy(err:find('"word" belongs to no option; it is ignored, as in memcached\n', 1, true), err)
        assert.truthy(err:find("-o hashpower is accepted without effect", 1, true), err)
    end)

    it("leaves UDP out beside TLS and a UNIX socket, and says so in one line", function()
        for words, option in pairs({ [TLS:format("one.pem", "one.key") .. " -U -1"] = "-Z",
            ["-s FOLDER/socket -U 11211"] = "-s" }) do
            local code, out, err = run("--check-config " .. words)
            assert.same({ 0, GOOD }, { code, out }, err)
            assert.truthy(err:find("warn: UDP is off: -U does not go with " .. option, 1, true), err)
        end
    end)

    it("warns only root that serving needs -u", function()
        local function is_told(before, user)
            return server.capture(("%s%s --check-config -p -1 %s 2>&1"):format(before, server.quoted(SLATED), user))
                :find("to serve as root give -u root", 1, true) ~= nil
        end
        local is_root = server.USER ~= ""
        assert.equal(is_root, is_told("", ""))
        assert.is_false(is_told("", server.USER))
        assert.is_false(is_told(is_root and "setpriv --reuid 65534 --regid 65534 --clear-groups " or "", ""))
    end)

    it("looks up the user of -u only as root, as a start does", function()
        local as_nobody = server.USER == "" and "" or "setpriv --reuid 65534 --regid 65534 --clear-groups "
        local said = server.capture(("%s%s --check-config -p -1 -u 11211 2>&1; echo $?"):format(as_nobody,
            server.quoted(SLATED)))
        assert.equal(GOOD, said:match("^[^\n]*\n"))
        assert.equal("0", said:match("%d+$"))
    end)
end)
