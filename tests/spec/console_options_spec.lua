-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's command line, its file of settings and its password file, without a terminal.
local address = require "slate.console.address"
local gather = require "slate.base.gather"
local options = require "slate.console.options"
local server = require "support.server"
require "support.world" -- its interpreter has slate.console.cells

-- Files and the environment of a spec: the texts by their paths.
local function files_of(texts, environment)
    local function read(path)
        local text = texts[path]
        if text == nil then
            return nil, "No such file or directory", true
        end
        return text or nil, not text and "not a regular file" or nil
    end
    return { read = read, read_secret = read,
        environment = function(name) return (environment or { HOME = "/home/me" })[name] end }
end

local function parse(line, texts, environment)
    local words = {}
    for word in line:gmatch("%S+") do words[#words + 1] = word end
    return options.parse(words, files_of(texts or {}, environment))
end

local function names(of)
    local list = gather.values(of.servers, "name")
    return table.concat(list, " ")
end

describe("slatetop's command line", function()
    it("has defaults", function()
        local got = parse("")
        assert.equal("127.0.0.1:11211", names(got))
        assert.same({ 1, 1, "auto" }, { got.interval_s, got.snapshots, got.mouse })
    end)

    for line, field in pairs({
        ["-b -n 3"] = "batch", ["-bn3"] = "batch", ["--json"] = "batch", ["-v"] = "batch",
        ["--read-only cache7"] = "read_only", ["--read cache7"] = "read_only", ["cache7 -r"] = "read_only" }) do
        it("takes " .. line, function() assert.truthy(parse(line)[field]) end)
    end

    it("takes arguments in each form", function()
        for _, line in ipairs({ "-d 0.5", "-d0.5", "--delay 0.5", "--delay=0.5", "--del 0.5" }) do
            assert.equal(0.5, parse(line).interval_s, line)
        end
        assert.same({ 3, true }, { parse("-n 3").snapshots, parse("-rbam").mono })
        assert.equal("FILE", parse("--replay FILE --at 5").replay)
        assert.equal("-r:11211", names(parse("-- -r")))
    end)

    for line, want in pairs({
        cache7 = "cache7:11211", ["a b:5 dns:pool:6"] = "a:11211 b:5 dns:pool:6",
        ["a,b:5 [::1]:6,dns:pool:6"] = "a:11211 b:5 [::1]:6 dns:pool:6", ["./a,b.sock"] = "./a,b.sock",
        ["-s /run/x.sock"] = "/run/x.sock", ["-S a dns:b:1"] = "tls://a:11211 tls://dns:b:1" }) do
        it("watches the servers of " .. line, function() assert.equal(want, names(parse(line))) end)
    end

    it("knows the operator's own names of servers", function()
        local path = "/home/me/.config/slate/servers"
        assert.equal("a:1 b:2", names(parse("mine", { [path] = "mine = a:1, b:2\n" })))
        assert.truthy(select(2, parse("mine", { [path] = "a b c\n" })):find("servers:1: ", 1, true))
    end)

    for line, why in pairs({
        ["-d 0"] = "from 0.1 to 3600, not '0'", ["-d 1e9"] = "not '1e9'", ["-d nan"] = "not 'nan'",
        ["-d 0x1p-1"] = "not '0x1p-1'", ["-d 1e0"] = "not '1e0'", ["--at 0x5 -p y"] = "not '0x5'",
        ["-n 0"] = "from 1 to 1000000", ["-n 3x"] = "not '3x'", ["-n"] = "option '-n' needs an argument",
        ["--bogus"] = "unknown option '--bogus'", ["--tls-c x"] = "unknown option '--tls-c'",
        ["-bX"] = "unknown option", ["--json=1"] = "unknown option", ["--replay=x a"] = "--replay takes no server",
        ["--at=5 a"] = "--at needs", ["--at=x --replay=y"] = "--at takes seconds", ["--record=x a b"] = "one server",
        ["--record=x dns:a"] = "one server", ["--record=x file:a"] = "one server", ["dns::1"] = "dns:NAME:PORT",
        ["a,,b"] = "missing in 'a,,b'", [","] = "missing", ["--json --csv"] = "exclude each other",
        ["-C pink"] = "no theme 'pink'", ["-M rat"] = "not 'rat'", ["-S /run/x"] = "TLS needs a host",
        ["-c /none"] = "cannot read /none: No such file",
        ["-P /none"] = "cannot read the password in /none: No such file" }) do
        it(("refuses %s in one sentence"):format(line), function()
            local got, problem = parse(line)
            assert.is_nil(got)
            assert.truthy(problem:find(why, 1, true), problem)
        end)
    end

    it("reads the file of settings, and the command line counts for more", function()
        local function with(text, line) return parse("-c rc " .. (line or ""), { rc = text }) end
        local got = with("# mine\n\n server = a \nserver=b:5\ndelay = 2\nread-only = yes\nmono = no\ntheme = light\n"
            .. "mouse = no\n")
        assert.equal("a:11211 b:5", names(got))
        assert.same({ 2, true, 2, "no" }, { got.interval_s, got.read_only, got.theme, got.mouse })
        assert.is_nil(got.mono)
        assert.equal("c:11211", names(with("server = a\ndelay = 2\n", "c")))
        for text, why in pairs({
            ["delay = 1\n\ncolour = red\n"] = "rc:3: there is no setting 'colour'",
            ["batch = yes\n"] = "rc:1: there is no setting", ["mono = perhaps\n"] = "rc:1: mono is yes or no",
            ["theme = pink\n"] = "rc:1: ", delay = "rc:1: a setting is 'name = value', not 'delay'",
            ["joe:secret"] = "a setting is", ["a\0b"] = "cannot read rc: not a text",
            [("#"):rep(70000)] = "more than 64 KiB" }) do
            local _, problem = with(text)
            assert.truthy(problem and problem:find(why, 1, true), problem)
        end
    end)

    it("refuses to start without its settings, among them read-only, but for a text of its own", function()
        local rc = "/config/slate/slatetoprc"
        local function with(text, line)
            return parse(line or "-b", { [rc] = text }, { XDG_CONFIG_HOME = "/config" })
        end
        for why, text in pairs({ ["not a regular file"] = false, ["not a text"] = "read-only = yes\n\0",
            ["more than 64 KiB"] = "read-only = yes\n" .. ("#"):rep(70000) }) do
            local got, problem = with(text)
            assert.is_nil(got)
            assert.equal(("cannot read %s: %s: its settings, such as read-only, are unknown"):format(rc, why), problem)
            assert.is_true(with(text, "--help").help and with(text, "-V").version and with(text, "-D").describe)
        end
        assert.is_true(with(nil).batch and with("").batch)
        assert.truthy(select(2, with("theme = pink\n")):find("slatetoprc:1: ", 1, true))
    end)

    for text, want in pairs({
        ["joe:secret\n"] = "joe secret", ["joe:se:cret:read\r\nx"] = "joe se:cret", ["joe:read"] = "joe read",
        ["joe:a:admin\n"] = "joe a", ["joe:"] = false, [":x"] = false, ["a b:c"] = false, ["x"] = false, ["joe:" ..
        ("x"):rep(246)] = false }) do
        it(("reads a password file: %s"):format(text:sub(1, 20):gsub("%c", " ")), function()
            assert.equal(want or nil, (options.credentials(text, "users")))
        end)
    end

    it("finds passwords and certificates", function()
        local environment = { SLATE_TLS_CA = "other", SLATE_TLS_KEY = "key" }
        local got = parse("-P users -A ca", { users = "joe:secret\n" }, environment)
        assert.same({ credentials = "joe secret", ca = "ca", key = "key" }, options.access(got))
        assert.truthy(select(2, parse("-P users", { users = "" })):find("in users: it is empty", 1, true))
    end)

    it("has the words of the program", function()
        assert.equal(server.capture("build/bin/slatetop --help") .. "\n", options.help())
    end)
end)

describe("an address in slatetop", function()
    for text, want in pairs({
        cache7 = "cache7:11211", ["cache7:22122"] = "cache7:22122", ["[::1]"] = "[::1]:11211", ["::1"] = "[::1]:11211",
        [":22122"] = "127.0.0.1:22122", [""] = "127.0.0.1:11211", ["tls://a"] = "tls://a:11211",
        ["tls://dns:cache:1"] = "tls://dns:cache:1", ["file:./fleet"] = "file:./fleet", ["run/x.sock"] = "run/x.sock",
        ["unix:x.sock"] = "x.sock", ["tls://file:/etc/fleet"] = "tls://file:/etc/fleet" }) do
        it(("'%s' is %s"):format(text, want), function() assert.equal(want, address.parse(text).name) end)
    end

    it("names the list of a word, and the host of a certificate", function()
        assert.equal("dns:cache:1", address.parse("tls://dns:cache:1").word)
        assert.equal("cache", address.parse("tls://dns:cache:1").tls_name)
    end)

    for _, text in ipairs({
        "x:0", "x:65536", "x:", "x:1x", "x:-1", "[::1", "/" .. ("a"):rep(200), ("a"):rep(300), "srv:", "file:", "run/",
        "http://cache7/x", "tls:///run/x.sock" }) do
        it(("refuses '%.20s'"):format(text), function() assert.is_nil((address.parse(text))) end)
    end
end)
