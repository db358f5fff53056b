-- SPDX-License-Identifier: BSD-3-Clause
-- slatetop's servers: those on lists are watched, those that left them are not.
local address = require "slate.console.address"
local fleet = require "slate.console.fleet"

local PATH <const> = "/fleet"

describe("slatetop's fleet", function()
    local watched, text, now_s, is_slow

    -- A session without a connection.
    local function open(server)
        return { address = server.name, server = server, model = { link = "up" }, close = function() end,
            due_s = function() end, changes = { is_busy = function(self) return self.busy end } }
    end

    -- As link.discover, in this process.
    local function discover(f)
        local answer = f()
        return { take = function() return not is_slow and answer or nil end, close = function() end }
    end

    local function new()
        return fleet.new({ open = open, discover = discover, ways = {
            read_file = function() return text, "No such file or directory" end,
            addresses = function() return { "127.0.0.2", "127.0.0.1" } end,
        } })
    end

    local function add(word) assert.truthy(watched:add(assert(address.parse(word)))) end

    local function look(later_s)
        now_s = now_s + (later_s or 6)
        watched:step_lists(now_s)
        return watched:step_lists(now_s)
    end

    local function names()
        local list = {}
        for i, session in ipairs(watched.sessions) do
            list[i] = session.address:gsub("127%.0%.0%.", "")
        end
        return table.concat(list, " ")
    end

    local function write(...)
        text = "127.0.0." .. table.concat({ ... }, "\n127.0.0.") .. "\n"
    end

    before_each(function()
        now_s, is_slow = 100, false
        watched = new()
        add("file:" .. PATH)
        write("1:1 # the first", "1:2")
        look()
    end)

    it("watches the servers of a file, and no more those that left it", function()
        assert.same({ "1:1 1:2", "" }, { names(), watched:note() })
        write("1:1", "1:3")
        assert.is_true(look())
        assert.equal("1:1 1:2 1:3", names())
        assert.is_nil(watched:drop_left(watched.sessions[2]), "the one that is open stays")
        watched.sessions[2].changes.busy = true
        assert.is_nil(watched:drop_left(), "one with a change under way stays, too")
        watched.sessions[2].changes.busy = nil
        assert.same({ 2, nil, "1:1 1:3" }, { watched:drop_left(), watched:drop_left(), names() })
    end)

    it("keeps its servers while the list is wrong, and names the mistake", function()
        write("1:1", "1:x")
        look()
        assert.truthy(watched:note():find("line 2: '127.0.0.1:x' is not a server", 1, true), watched:note())
        text = nil
        look()
        assert.truthy(watched:note():find("cannot read /fleet: No such file", 1, true), watched:note())
        assert.same({ nil, "1:1 1:2" }, { watched:drop_left(), names() })
        write("1:2")
        look()
        assert.same({ "", 1 }, { watched:note(), watched:drop_left() })
    end)

    it("keeps a server that the operator named, and watches it once", function()
        add("127.0.0.1:1")
        assert.equal("1:1 1:2", names())
        write("1:2")
        look()
        assert.is_nil(watched:drop_left())
    end)

    it("reports more servers than it can watch", function()
        local list = {}
        for i = 1, 129 do list[i] = "1:" .. i end
        write(table.unpack(list))
        look()
        assert.equal(128, #watched.sessions)
        assert.truthy(watched:note():find("more servers than the 128 that can be watched", 1, true))
    end)

    it("keeps an address of a name while it answers", function()
        watched = new()
        add("tls://dns:pool:7")
        look()
        assert.equal("tls://1:7 tls://2:7", names())
        assert.equal("pool", watched.sessions[1].server.tls_name)
        watched.origins[1].has_left = true
        assert.is_nil(watched:drop_left())
        watched.sessions[1].model.link = "down"
        assert.equal(1, watched:drop_left())
    end)

    it("gives a lookup up, and tries again", function()
        is_slow = true
        look()
        assert.is_false(look(19))
        look(2)
        assert.equal("file:/fleet: no answer within 20 s", watched:note())
        assert.equal(now_s + 5, watched:due_s())
    end)
end)
