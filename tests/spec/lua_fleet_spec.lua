-- SPDX-License-Identifier: BSD-3-Clause
-- Where keys lie in a fleet: behind the real nutcracker, and by slatectl.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local client = require "slate.wire.client"
local command = require "support.command"
local patience = require "support.patience"
local pipeline = require "support.pipeline"
local ring = require "slate.fleet.ring"
local server = require "support.server"

local PROXY <const> = server.capture("PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nutcracker")
local PROXY_ATTEMPTS <const> = 5

-- nutcracker's configuration for servers as it writes them.
local function proxy_configuration(servers, port, options)
    return ("slate:\n  listen: 127.0.0.1:%d\n  hash: %s\n  distribution: %s\n  auto_eject_hosts: false\n"
        .. "  timeout: 5000\n  preconnect: true\n  servers:\n   - %s\n"):format(port, options.hash or "md5",
        options.distribution or "ketama", table.concat(servers, "\n   - "))
end

local function free_port()
    local socket = assert(require("socket").bind("127.0.0.1", 0))
    local _, port = socket:getsockname()
    socket:close()
    return math.tointeger(tonumber(port))
end

-- Does nutcracker serve at this port? It has ended when another program was faster with the port.
local function serves(pid, port)
    patience.wait_for("nutcracker to serve or to end", function()
        local one = client.connect("127.0.0.1:" .. port, { timeout_s = 1 })
        local item = one and one:get("slate")
        if one then
            one:close()
        end
        return item ~= nil or not server.is_running(pid)
    end)
    return server.is_running(pid)
end

-- nutcracker in front of servers, in a folder of its own: its pid and address.
local function start_proxy(servers, options, folder)
    for _ = 1, PROXY_ATTEMPTS do
        local port = free_port()
        server.write_file(folder .. "/nutcracker.yml", proxy_configuration(servers, port, options))
        -- It has a port for its statistics, too, which it cannot do without, and a log that only root may write.
        local pid = server.capture(("cd %s; exec setsid %s -c nutcracker.yml -a 127.0.0.1 -s %d -p pid -o log "
            .. "</dev/null >/dev/null 2>&1 & echo $!"):format(folder, PROXY, free_port()))
        if serves(math.tointeger(tonumber(pid)), port) then
            return pid, "127.0.0.1:" .. port
        end
    end
    error("nutcracker did not start: " .. (server.read_file(folder .. "/log") or ""))
end

-- Servers behind nutcracker, ended by `down`.
local function start(count, options)
    local self, folder, members = { servers = {} }, server.folder(), {}
    local pid
    function self.down()
        if pid then
            os.execute("kill -9 " .. pid)
        end
        for _, one in ipairs(members) do
            one:stop()
        end
        server.remove_folder(folder)
    end
    finally(self.down)
    for i = 1, count do
        members[i] = server.start({ transport = "tcp", args = { "-m", "16" } })
        self.servers[i] = ("%s:%d%s"):format(members[i].address, options.weights and options.weights[i] or 1,
            options.names and " " .. options.names[i] or "")
    end
    pid, self.proxy = start_proxy(self.servers, options, folder)
    return self
end

local function keys_named(prefix, count)
    local keys = {}
    for i = 1, count do
        keys[i] = prefix .. i
    end
    return keys
end

local function store(address, keys)
    local through = assert(client.connect(address))
    local batch = pipeline(through)
    for _, key in ipairs(keys) do
        batch:set(key, "value of " .. key)
    end
    local results, errors = batch:run()
    through:close()
    assert.same({}, errors)
    assert.equal(#keys, #results)
end

-- How many of the keys each server holds, and how many of these the ring would not put there.
local function misplaced(one, keys)
    local wrong, held = 0, 0
    for index, member in ipairs(one.members) do
        local c = assert(client.connect(member.host .. ":" .. member.port))
        local items = assert(c:get_many(keys))
        c:close()
        for key in pairs(items) do
            held = held + 1
            wrong = wrong + (one:server(key).index == index and 0 or 1)
        end
    end
    return wrong, held
end

describe("nutcracker", function()
    if PROXY == "" then
        pending("nutcracker is not installed")
        return
    end

    for _, case in ipairs({
        { "ketama", "md5", { 1, 2, 10 } }, { "ketama", "hsieh" },
        { "modula", "hsieh" }, { "ketama", "fnv1a_64", { 3, 1, 2 } },
        { "modula", "one_at_a_time", { 1, 2, 4 } }, { "modula", "crc32a" }, { "modula", "crc32", nil, "crc" },
    }) do
        local distribution, hash, weights, our_name = table.unpack(case, 1, 4)
        it(("agrees on %s with %s%s"):format(distribution, hash, weights and " and weights" or ""), function()
            -- nutcracker sorts its servers by their names, shorter names first.
            local one = start(3, { weights = weights, hash = hash, distribution = distribution,
                names = { "zz", "bbb", "aaa" } })
            local keys = keys_named("some key's name ", 700)
            for i, key in ipairs(keys) do
                keys[i] = key:gsub(" ", ".") .. ("x"):rep(i % 23)
            end
            store(one.proxy, keys)
            local wrong, held = misplaced(assert(ring.new(one.servers,
                { kind = distribution, hash = our_name or hash, sorted = true })), keys)
            assert.equal(700, held)
            assert.equal(0, wrong)
        end)
    end
end)

describe("slatectl fleet", function()
    local ctl

    before_each(function() ctl = command.new() end)
    after_each(function() ctl.remove() end)

    it("where reads the servers from a file in nutcracker's words", function()
        local file = assert(io.open(ctl.folder .. "/servers", "w"))
        file:write("# ours\n   - 10.0.0.1:11211:1\n   - 10.0.0.2:11211:1 two # the second\n\n")
        file:close()
        local _, text = ctl.run("fleet where --servers servers --copies 2 --json a b")
        local document = require("cjson").decode(text)
        assert.equal("slate/fleet-where/1", document.schema)
        assert.equal(2, #document.keys[1].servers)
        local expected = ring.new({ "10.0.0.1:11211", "10.0.0.2:11211:1 two" }):server("b").name
        assert.equal(expected, document.keys[2].servers[1])
        assert.equal(74, (ctl.run("fleet where --servers nowhere a")))
        local code, _, said = ctl.run("fleet where a")
        assert.equal(64, code)
        assert.truthy(said:find("--servers", 1, true), said)
        code, _, said = ctl.run("fleet where a --servers servers --hash sha1")
        assert.equal(64, code)
        assert.truthy(said:find("no hash named 'sha1'", 1, true), said)
    end)

    it("refuses a single word that is no sub-command and no server's name, and lists the sub-commands", function()
        local ways, one = require("slate.wire.resolver").WAYS, require("support.canned").new({}, {})
        local find = ways.addresses
        finally(function() ways.addresses = find end)
        ways.addresses = function() return nil, "nobody has it" end
        for _, word in ipairs({ "pilot", "autoscale", "up" }) do
            local code, out, err = one:slatectl({ "fleet", word, "--interval", "0" }, { HOME = ctl.folder })
            assert.equal(64, code)
            assert.equal("", out)
            assert.equal(("slatectl: '%s' is no sub-command of fleet, which are where, apply, undo, warm, flush; and "
                .. "no server of that name is found: nobody has it\n"):format(word), err)
        end
        local code, out = ctl.run("fleet 127.0.0.1:1 --interval 0")
        assert.equal(1, code) -- a server that is down
        assert.truthy(out:find("127.0.0.1:1 ", 1, true), out)
        code, out = ctl.run("help fleet where")
        assert.equal(0, code)
        assert.truthy(out:find("^Usage: slatectl fleet%-where"), out)
    end)

    it("is as slate-fleets(7) says: every example runs, in its order", function()
        local one = server.start({ transport = "tcp", args = { "-m", "16" } })
        local by_name = one.address:gsub("127.0.0.1", "localhost")
        server.write_file(ctl.folder .. "/fleet", one.address .. "\n")
        server.write_file(ctl.folder .. "/fleet.txt", ("%s:1\n%s:1\n"):format(one.address, by_name))
        -- The page's servers are this one, by two names; what would run on ends soon.
        local in_place_of = { ["10.0.0.1"] = one.address, ["10.0.0.2"] = by_name, ["10.0.0.4"] = by_name,
            [" 10.0.0.3"] = "", ["/etc/slate/fleet"] = "fleet",
            ["--guard hit-2"] = "--for 200ms --interval 50ms --guard hit-2",
            ["free-pages --for 10s"] = "free-pages --for 200ms --interval 50ms" }
        local count = 0
        for line in command.read_file("man/slate-fleets.7"):gmatch("%.Dl (slatectl [^\n]+)") do
            for _, words in ipairs({ "10.0.0.1", "10.0.0.2", " 10.0.0.3", "10.0.0.4",
                "/etc/slate/fleet", "--guard hit-2", "free-pages --for 10s" }) do
                line = line:gsub(words:gsub("%p", "%%%0"), in_place_of[words])
            end
            local code, _, said = ctl.shell(line)
            assert.equal(0, code, line .. ": " .. said)
            count = count + 1
        end
        one:stop()
        assert.equal(6, count)
    end)
end)
