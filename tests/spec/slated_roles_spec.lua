-- SPDX-License-Identifier: BSD-3-Clause
-- Roles crossed with everything that a client can ask for: each opcode of the binary protocol with each role, each
-- command and opcode of who has not logged in. That a user has what the role of a text command says, and no more:
-- slated_access_spec.lua. A command, verb or opcode that comes without a claim in support/roles.lua fails here.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local binary = require "support.binary"
local roles = require "support.roles"
local server = require "support.server"
local wire = require "support.wire"
require "support.world"

local REFUSED <const> = " status=20 value=Auth\\x20failure."
local QUITS <const> = { ["07"] = true, ["17"] = true } -- whoever sends them is hung up on

describe("a claim about the role", function()
    local tried = {}
    for _, row in ipairs(roles.COMMANDS) do
        tried[row[1]:match("^[%l_]+")] = true
        tried[row[1]:match("^[%l_]+ [%l_]+") or ""] = true
    end

    it("is there for every command, and every second word that changes it", function()
        local count = 0
        for name, words in pairs(roles.table_of_commands()) do
            assert.truthy(tried[name], "no role of " .. name .. " is tried")
            for _, word in ipairs(words) do
                assert.truthy(tried[name .. " " .. word], ("no role of %s %s is tried"):format(name, word))
            end
            count = count + 1
        end
        assert.truthy(count >= 14, "only " .. count .. " commands were found")
    end)

    it("is there for every verb of the text and meta protocols", function()
        local verbs = roles.verbs()
        assert.truthy(#verbs >= 14, "only " .. #verbs .. " verbs were found")
        for _, verb in ipairs(verbs) do
            assert.truthy(tried[verb], "no role of " .. verb .. " is tried")
        end
    end)

    it("is there for every opcode of the binary protocol", function()
        local claimed, count = {}, 0
        for _, row in ipairs(roles.PACKETS) do
            claimed[row[1]:sub(1, 2)] = true
        end
        for opcode, name in pairs(roles.opcodes()) do
            assert.truthy(claimed[opcode] or QUITS[opcode], "no role of " .. name .. " is tried")
            count = count + 1
        end
        assert.truthy(count >= 34, "only " .. count .. " opcodes were found")
    end)
end)

describe("a role", function()
    local one, admin, addresses

    setup(function()
        one = server.start({ transport = "tcp", args = { "-l", "127.0.0.2,role=read", "-l", "127.0.0.3,role=write" } })
        admin = wire.connect(one.address)
        addresses = { admin = one.address }
        local _, conns = wire.stats(admin, "conns")
        for name, value in pairs(conns) do
            local host, port = value:match("^tcp:(127%.0%.0%.[23]):(%d+)$")
            if host and name:find(":addr$") then
                addresses[host == "127.0.0.2" and "read" or "write"] = host .. ":" .. port
            end
        end
    end)
    teardown(function()
        admin:close()
        one:stop()
    end)

    for _, role in ipairs({ "read", "write", "admin" }) do
        it("lets the role " .. role .. " do what it holds with each opcode, and nothing more", function()
            local refused = 0
            local _, before = wire.stats(admin, "slated")
            for _, row in ipairs(roles.PACKETS) do
                local packet, needed = row[1], row[2]
                local client = binary.client(wire.connect(addresses[role]))
                local said = client:ask({ packet })
                local refusal = packet:sub(1, 2) .. REFUSED
                assert.equal(not roles.may(role, needed), said[1] == refusal,
                    ("%s as %s: %s"):format(packet, role, tostring(said[1])))
                assert.not_equal("close", said[#said], packet)
                refused = refused + (said[1] == refusal and 1 or 0)
                client:close()
            end
            local _, after = wire.stats(admin, "slated")
            if role ~= "admin" then -- who has reset the counter
                assert.equal(refused, after.role_refusals - before.role_refusals)
            end
        end)

        it("knows no other opcode as " .. role, function()
            local known = roles.opcodes()
            local client = binary.client(wire.connect(addresses[role]))
            for number = 0, 255 do
                local opcode = ("%02x"):format(number)
                if not known[opcode] then
                    assert.same({ opcode .. " status=81 value=Unknown\\x20command" }, client:ask({ opcode }))
                end
            end
            client:close()
        end)

        it("lets the role " .. role .. " leave", function()
            for opcode in pairs(QUITS) do
                local client = binary.client(wire.connect(addresses[role]))
                local said = client:ask({ opcode })
                assert.equal("close", said[#said])
                client:close()
            end
        end)
    end

    it("leaves the right to recache a stale item to who may store it", function()
        local reader = wire.connect(addresses.read)
        wire.ask(admin, "ms stale 1\r\n1")
        assert.equal("HD", wire.ask(admin, "md stale I"))
        assert.equal("HD s1 Z X", wire.ask(reader, "mg stale s"))
        assert.equal("HD s1 X W", wire.ask(admin, "mg stale s"))
        assert.equal("HD s1 Z X", wire.ask(reader, "mg stale s"))
        reader:close()
    end)
end)

describe("who has not logged in", function()
    local one, folder

    setup(function()
        folder = server.folder()
        server.write_file(folder .. "/users", "adam:a:admin\n")
        one = server.start({ transport = "tcp", args = { "-Y", folder .. "/users", "-A" } })
    end)
    teardown(function()
        one:stop()
        server.remove_folder(folder)
    end)

    -- What the server says to a new connection that sends this, up to its end or its first refusal.
    local function said(text)
        local connection = wire.connect(one.address)
        connection:send(text)
        local line = connection:receive("*l")
        connection:close()
        return line
    end

    local REFUSALS <const> = { ["CLIENT_ERROR unauthenticated"] = true, ["CLIENT_ERROR authentication failure"] = true,
        ["CLIENT_ERROR bad authentication token format"] = true, ["CLIENT_ERROR auth token too long"] = true,
        ["CLIENT_ERROR bad command line termination"] = true }

    it("may use no command: all are refused, and nothing is done", function()
        for _, row in ipairs(roles.COMMANDS) do
            local line = said(row[1] .. "\r\n")
            assert.is_true(line == nil or REFUSALS[line] == true, ("%s: %s"):format(row[1]:sub(1, 40), tostring(line)))
        end
        local admin = wire.connect(one.address)
        admin:send("set x 0 0 6\r\nadam a\r\n")
        assert.equal("STORED", admin:receive("*l"))
        local _, counts = wire.stats(admin)
        assert.equal("0 0 0 0", ("%s %s %s %s"):format(counts.curr_items, counts.cmd_set, counts.cmd_flush,
            counts.cmd_get))
        admin:close()
    end)

    it("may use no opcode", function()
        for _, row in ipairs(roles.PACKETS) do
            local client = binary.client(wire.connect(one.address))
            assert.same({ "close" }, client:ask({ row[1] }))
            client:close()
        end
    end)
end)
