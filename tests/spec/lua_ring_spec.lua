-- SPDX-License-Identifier: BSD-3-Clause
local ring = require "slate.fleet.ring"

local function split(text, separator)
    local parts = {}
    for part in text:gmatch("[^" .. separator .. "]+") do parts[#parts + 1] = part end
    return parts
end

local function addresses(count)
    local list = {}
    for i = 1, count do list[i] = ("10.1.%d.%d:11211"):format(i // 250, i % 250 + 1) end
    return list
end

local function owners(one, keys)
    local list = {}
    for i = 1, keys do list[i] = one:server("key-" .. i).name end
    return list
end

describe("ring", function()
    -- The rings of a fixture, with the server of each key(i), a digit each.
    local function agrees(fixture, key, options, keys, expected)
        local rings = 0
        for line in io.lines("tests/fixtures/" .. fixture) do
            local kind, hash, servers, digits = line:match("^ring (%S+) (%S+) (.-) (%d+)$")
            if kind then
                local one = assert(ring.new(split(servers, ","), { kind = kind, hash = hash, sorted = options.sorted }))
                local differing = 0
                for i = 1, #digits do
                    differing = differing + (one:server(key(i)).index - 1 == tonumber(digits:sub(i, i)) and 0 or 1)
                end
                assert.same({ 0, keys }, { differing, #digits }, ("%s with %s over %s"):format(kind, hash, servers))
                rings = rings + 1
            end
        end
        assert.equal(expected, rings)
    end

    it("places keys as libmemcached and nutcracker do, with weights and without", function()
        agrees("libmemcached-1.1.4.txt", function(i) return "key-" .. i - 1 end, {}, 10000, 7)
        -- nutcracker sorts its servers by their names, shorter names first
        agrees("nutcracker-0.5.0.txt", function(i) return "some.key's.name." .. i .. ("x"):rep(i % 23) end,
            { sorted = true }, 700, 7)
    end)

    it("moves only the keys of a server that is gone", function()
        local servers = addresses(8)
        for _, kind in ipairs({ "ketama", "consistent" }) do
            local before = owners(ring.new(servers, { kind = kind }), 2000)
            local left = table.move(servers, 1, 8, 1, {})
            local gone = table.remove(left, 3)
            local after = owners(ring.new(left, { kind = kind }), 2000)
            local moved = 0
            for i, name in ipairs(before) do
                if name == gone then
                    moved = moved + 1
                    assert.not_equal(gone, after[i])
                else
                    assert.equal(name, after[i])
                end
            end
            assert.truthy(moved > 0)
        end
    end)

    it("jumps as the paper's code does", function()
        -- From the C++ of the paper, compiled.
        assert.same({ 0, 0, 55, 62, 8, 92 }, {
            ring.jump(0, 1), ring.jump(1, 1), ring.jump(1, 100), ring.jump(2, 100), ring.jump(0xcafe, 11),
            ring.jump(-1, 100),
        })
    end)

    it("gives the copies of a key to different servers, the next being the one that would take over", function()
        local servers = addresses(6)
        for _, kind in ipairs({ "ketama", "consistent", "modula", "jump" }) do
            local one = ring.new(servers, { kind = kind })
            for i = 1, 200 do
                local copies = one:servers("key-" .. i, 3)
                assert.equal(3, #copies)
                assert.equal(one:server("key-" .. i), copies[1])
                assert.truthy(copies[1] ~= copies[2] and copies[2] ~= copies[3] and copies[1] ~= copies[3])
            end
            assert.equal(6, #one:servers("key", 100))
            assert.equal(0, #one:servers("key", 0))
        end
        local one = ring.new(servers)
        for i = 1, 100 do
            local copies = one:servers("key-" .. i, 2)
            local left = table.move(servers, 1, 6, 1, {})
            table.remove(left, copies[1].index)
            assert.equal(copies[2].name, ring.new(left):server("key-" .. i).name)
        end
    end)

    it("reads servers as twemproxy writes them", function()
        local server = ring.parse_server("127.0.0.1:11211:3 one")
        assert.same({ "127.0.0.1", 11211, 3, "one" }, { server.host, server.port, server.weight, server.ring_name })
        assert.same({ "h", 1 }, { ring.parse_server("h:11211").ring_name, ring.parse_server("h:11211").weight })
        assert.equal("h:11212", ring.parse_server("h:11212:2").ring_name)
        server = ring.parse_server("/run/a.sock:2 two")
        assert.same({ "/run/a.sock", 2, "two" }, { server.path, server.weight, server.ring_name })
        assert.equal("::1", ring.parse_server("[::1]:11211:2").host)
        server = ring.parse_server("tls://h:4")
        assert.same({ "h", 4, 1, true }, { server.host, server.port, server.weight, server.tls })
        assert.same({ 4, 2 }, { ring.parse_server("tls://h:4:2").port, ring.parse_server("tls://h:4:2").weight })
        for _, bad in ipairs({ "", "a b c", "h:0", "h:1:x", "h:1:2:3" }) do
            assert.equal("usage", select(3, ring.parse_server(bad)), bad)
        end
    end)

    it("reports the errors in its arguments", function()
        local function refused(servers, options)
            local one, message, code = ring.new(servers, options)
            assert.is_nil(one)
            assert.equal("usage", code)
            return message
        end
        assert.truthy(refused({}):find("needs a server", 1, true))
        assert.truthy(refused({ "h:1:0" }):find("weight of h:1", 1, true))
        assert.truthy(refused({ "h:1:10001" }):find("1 to 10000", 1, true))
        assert.truthy(refused({ "h:1" }, { kind = "circle" }):find("'circle'", 1, true))
        assert.truthy(refused({ "h:1" }, { hash = "sha1" }):find("'sha1'", 1, true))
        assert.truthy(refused({ "h 1 2" }):find("not a server", 1, true))
        local heavy = {}
        for i = 1, 420 do heavy[i] = ("h%d:1:10000"):format(i) end
        assert.truthy(refused(heavy, { kind = "modula" }):find("points", 1, true))
    end)
end)
