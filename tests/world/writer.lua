-- SPDX-License-Identifier: BSD-3-Clause
-- Clients of a storm (storm.lua) that know the possible replies. A client's own keys have a known value or are gone for
-- good. Of shared keys every value read was written, one client alone wins a CAS number, and no two increments have the
-- same reply.
local slate_world = require "slate_world"

local M = {}

local REQUESTS <const>, KEYS <const>, SHARED_KEYS <const> = 8, 16, 2
local BYTES <const>, LARGE_BYTES <const> = { 8, 8, 60, 60, 400, 3000, 20000, 100000 }, 10000
local SECOND_US <const>, COUNTER_STEP <const> = 1000000, 1000000
local FULL <const> = "SERVER_ERROR out of memory storing object"

local function draw(list)
    return list[math.random(#list)]
end

-- The known facts of the shared keys.
function M.shared()
    return { written = {}, won = {}, counted = {}, uniques = {}, count = 0 }
end

--- A client on this connection. Returns { step(round), flushed(before) }: step sends requests and returns a function
--- that checks the replies; flushed(before) is called when all items stored before that round are gone.
function M.new(connection, name, shared)
    local stored, uniques, stale, count, round, sent_bytes = {}, {}, {}, 0, 0, 0

    local function line()
        return assert(connection:receive("*l"))
    end

    local function send(...)
        local text = table.concat({ ... }, " ") .. "\r\n"
        sent_bytes = #text
        assert(connection:send(text))
    end

    local function expect(said, ...)
        for _, word in ipairs({ ... }) do
            if said == word then
                return said
            end
        end
        error(("%s instead of %s"):format(said, table.concat({ ... }, " or ")), 2)
    end

    local function new_value(most)
        count = count + 1
        return (name .. count .. "."):rep(math.min(draw(BYTES), most or math.huge) // 8 + 1)
    end

    local function gone(key)
        stored[key], uniques[key] = nil, nil
    end

    local function keep(key, value, dies_us)
        stale[key] = uniques[key] or stale[key]
        stored[key], uniques[key] = { value = value, round = round, dies_us = dies_us }, nil
    end

    -- The value and the unique number in a get's reply; nil: none.
    local function read_value()
        local head = line()
        local bytes, unique = head:match("^VALUE %S+ 0 (%d+) ?(%d*)$")
        if not bytes then
            expect(head, "END")
            return nil
        end
        local value = assert(connection:receive(math.tointeger(tonumber(bytes)) + 2)):sub(1, -3)
        expect(line(), "END")
        return value, unique
    end

    local own = {}

    function own.set(key)
        local value, ttl_s = new_value(), math.random(8) == 1 and math.random(3) or 0
        send("set", key, 0, ttl_s, #value .. "\r\n" .. value)
        return function()
            gone(key)
            if expect(line(), "STORED", FULL) == "STORED" then
                keep(key, value, ttl_s > 0 and slate_world.now_us() + (ttl_s + 1) * SECOND_US or nil)
            end
        end
    end

    function own.get(key)
        send("gets", key)
        return function()
            local entry, value, unique = stored[key], read_value()
            assert(not value or entry, key .. " has a value again")
            assert(not value or value == entry.value, key .. " has another value than was stored last")
            assert(not value or not entry.dies_us or slate_world.now_us() <= entry.dies_us, key .. " outlives its time")
            if value then
                uniques[key] = unique
            else
                gone(key)
            end
        end
    end

    -- Right where no store came since the number was read.
    function own.cas(key)
        local unique, is_stale = uniques[key], false
        if not unique or math.random(3) == 1 then
            unique, is_stale = stale[key], true
        end
        if not unique then
            return own.get(key)
        end
        local value = new_value()
        send("cas", key, 0, 0, #value, unique .. "\r\n" .. value)
        return function()
            local said = expect(line(), is_stale and "EXISTS" or "STORED", "NOT_FOUND", FULL)
            if said == "STORED" then
                assert(stored[key], key .. " was there again")
                keep(key, value)
            elseif said == "NOT_FOUND" then
                gone(key)
            end
        end
    end

    function own.append(key)
        local verb, more = draw({ "append", "prepend" }), new_value(3000)
        send(verb, key, 0, 0, #more .. "\r\n" .. more)
        return function()
            local entry, said = stored[key], expect(line(), "STORED", "NOT_STORED", FULL)
            if said == "STORED" then
                assert(entry, key .. " was there again")
                keep(key, verb == "append" and entry.value .. more or more .. entry.value, entry.dies_us)
            elseif said == "NOT_STORED" then
                gone(key)
            end
        end
    end

    function own.delete(key)
        send("delete", key)
        return function()
            assert(expect(line(), "DELETED", "NOT_FOUND") == "NOT_FOUND" or stored[key], key .. " was there again")
            gone(key)
        end
    end

    -- A key of the client's own that holds a number.
    function own.count(key)
        key = key .. "n"
        local entry, by = stored[key], math.random(100)
        if not entry then
            send("set", key, 0, 0, #tostring(by) .. "\r\n" .. by)
            return function()
                if expect(line(), "STORED", FULL) == "STORED" then
                    keep(key, by)
                end
            end
        end
        local verb = draw({ "incr", "decr" })
        send(verb, key, by)
        return function()
            local said = line()
            if said == "NOT_FOUND" then
                gone(key)
            elseif said ~= FULL then
                keep(key, verb == "incr" and entry.value + by or math.max(0, entry.value - by))
                assert(said == tostring(stored[key].value), ("%s is %s, not %d"):format(key, said, stored[key].value))
            end
        end
    end

    local common = {}

    function common.set(key)
        local value = new_value(3000)
        shared.written[key .. value] = true
        send("set", key, 0, 0, #value .. "\r\n" .. value)
        return function() expect(line(), "STORED", FULL) end
    end

    function common.get(key)
        send("gets", key)
        return function()
            local value, unique = read_value()
            assert(not value or shared.written[key .. value], key .. " has a value that nobody wrote")
            shared.uniques[key] = unique or shared.uniques[key]
        end
    end

    function common.cas(key)
        local value, unique = new_value(3000), shared.uniques[key] or 1
        shared.written[key .. value] = true
        send("cas", key, 0, 0, #value, unique .. "\r\n" .. value)
        return function()
            if expect(line(), "STORED", "EXISTS", "NOT_FOUND", FULL) == "STORED" then
                assert(not shared.won[key .. unique], key .. ": one unique number is won twice")
                shared.won[key .. unique] = true
            end
        end
    end

    function common.count(key)
        key = key .. "n"
        if math.random(6) == 1 then
            shared.count = shared.count + COUNTER_STEP
            send("set", key, 0, 0, #tostring(shared.count) .. "\r\n" .. shared.count)
            return function() expect(line(), "STORED", FULL) end
        end
        send("incr", key, 1)
        return function()
            local said = line()
            if said ~= FULL and said ~= "NOT_FOUND" then
                assert(tonumber(said) and not shared.counted[key .. said], ("%s is %s twice"):format(key, said))
                shared.counted[key .. said] = true
            end
        end
    end

    local OWN <const> = { "set", "set", "set", "get", "get", "get", "cas", "cas", "append", "delete", "count" }
    local COMMON <const> = { "set", "get", "get", "cas", "cas", "count", "count", "count" }
    local writer = {}

    -- Each of the client's own keys at most once, because the possible replies follow from the reply before. A large
    -- value is last: no client reads while all send.
    function writer.step(at_round)
        local checks, asked = {}, {}
        round = at_round
        for _ = 1, REQUESTS do
            local key = name .. "-" .. math.random(KEYS)
            if math.random(3) == 1 then
                checks[#checks + 1] = common[draw(COMMON)]("shared" .. math.random(SHARED_KEYS))
            elseif not asked[key] then
                local was = stored[key]
                asked[key] = true
                checks[#checks + 1] = own[draw(OWN)](key)
                if sent_bytes > LARGE_BYTES or was and #tostring(was.value) > LARGE_BYTES then
                    break
                end
            end
        end
        return function()
            for _, check in ipairs(checks) do
                check()
            end
        end
    end

    function writer.flushed(before)
        for key, entry in pairs(stored) do
            if entry.round < before then
                gone(key)
            end
        end
    end

    return writer
end

return M
