-- SPDX-License-Identifier: BSD-3-Clause
-- Eviction policies in Lua, in the simulator: they hit what slated's own of the same kind hit; their faults are told.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local dkjson = require "dkjson"
local evicting = require "slate.policy.evicting"
local server = require "support.server"

-- A queue: of those that came, or with `hit` of those that were used.
local QUEUE <const> = [=[
local function put(q, key)
    q.last = q.last + 1
    q.keys[q.last], q.at[key] = key, q.last
end
local function take(q, key)
    q.keys[q.at[key]], q.at[key] = nil, nil
end
return {
    name = "%s",
    init = function(cache)
        assert(cache.by_objects == (cache.capacity < 100000))
        return { first = 1, last = 0, keys = {}, at = {} }
    end,
    store = put,
    gone = take,
    hit = %s,
    victim = function(q)
        while not q.keys[q.first] do q.first = q.first + 1 end
        return q.keys[q.first]
    end,
}
]=]
local MOVE_UP <const> = "function(q, key) take(q, key) put(q, key) end"

describe("an eviction policy in Lua", function()
    local ctl

    setup(function()
        ctl = command.new()
        server.write_file(ctl.folder .. "/own-fifo.lua", QUEUE:format("own-fifo", "nil"))
        server.write_file(ctl.folder .. "/own-lru.lua", QUEUE:format("own-lru", MOVE_UP))
        local seed, lines = 7, {}
        math.randomseed(seed)
        for i = 1, 30000 do
            local key = math.floor(2000 * math.random() ^ 3)
            lines[i] = ("k%d %d"):format(key, 100 + key * 37 % 900)
        end
        server.write_file(ctl.folder .. "/t", table.concat(lines, "\n") .. "\n")
    end)
    teardown(function() ctl.remove() end)

    local function rows_of(arguments)
        local by = {}
        for _, row in ipairs(assert(dkjson.decode((ctl.succeed("simulate t --json " .. arguments)))).rows) do
            by[row.policy .. (row.objects or "")] = row
        end
        return by
    end

    it("hits exactly what slated's own of the same kind hit", function()
        local rows = rows_of("--objects 50,200 --policy fifo,lru --policy-file own-fifo.lua --policy-file own-lru.lua")
        for _, size in ipairs({ 50, 200 }) do
            for _, name in ipairs({ "fifo", "lru" }) do
                local theirs, own = rows[name .. size], rows["own-" .. name .. size]
                assert.same({ theirs.requests, theirs.hits, theirs.items, theirs.evictions, 0 },
                    { own.requests, own.hits, own.items, own.evictions, own.refused }, name .. size)
            end
        end
    end)

    it("has memory without pages, and the example beats the LRU by hits", function()
        local root = ctl.root .. "/man/examples/gdsf.lua"
        local rows = rows_of("--memory 8m --policy lru --with='--scale 20' --policy-file own-lru.lua --policy-file "
            .. root)
        assert.is_true(rows.gdsf.hits > rows["own-lru"].hits)
        assert.is_true(rows["own-lru"].held_bytes <= 8 << 20 and rows["own-lru"].held_bytes > 7 << 20)
        assert.is_true(math.abs(rows["own-lru"].hit_ratio - rows.lru.hit_ratio) < 0.05,
            rows["own-lru"].hit_ratio .. " against " .. rows.lru.hit_ratio)
        assert.equal(rows.gdsf.requests, rows.lru.requests)
    end)

    it("plays stores, deletes, times to live and samples as slated does", function()
        server.write_file(ctl.folder .. "/v", "# slate trace 1 sample=1/2\n0 set k 50 5 -\n2000 get k - - -\n"
            .. "10000 get k - - -\n12000 get k - - -\n12001 delete k - - -\n12002 get k - - -\n"
            .. "20000 get u - - -\n21000 get u - - -\n")
        local rows = {}
        for _, row in ipairs(assert(dkjson.decode((ctl.succeed("simulate v --json --memory 8m --policy lru "
            .. "--policy-file own-lru.lua")))).rows) do
            rows[row.policy] = row
        end
        assert.same({ rows.lru.requests, rows.lru.hits, rows.lru.items },
            { rows["own-lru"].requests, rows["own-lru"].hits, rows["own-lru"].items })
        assert.equal(4, rows.lru.hits) -- two of the sample
    end)

    it("tells what is wrong with a file, and where", function()
        for text, words in pairs({
            ["return 5"] = "returns a number, not the table of a policy",
            ["return { store = 1, victim = function() end }"] = "store is a number, not a function",
            ["return { store = function() end }"] = "has no function victim",
            ["return { name = 'a b', store = function() end, victim = function() end }"] = "its name is up to 24",
            ["return {"] = "bad.lua:1: unexpected symbol",
            ["error('oh')"] = "oh",
            ["os.execute('true')"] = "attempt to index a nil value (global 'os')",
            ["return { store = function() end, victim = function() return 'z' end }"] = "at request 3: victim names "
                .. "'z', which is not stored",
            ["return { store = function() end, victim = function() end }"] = "victim names nothing",
            ["return { store = function() error('no') end, victim = function() end }"] = "at request 1: ",
            ["return { store = function() while true do end end, victim = function() end }"] = "took more than "
                .. "10000000 instructions",
        }) do
            server.write_file(ctl.folder .. "/bad.lua", text)
            server.write_file(ctl.folder .. "/s", "a\nb\nc\n")
            local code, _, err = ctl.run("simulate s --objects 2 --policy lru --policy-file bad.lua")
            assert.equal(74, code, text .. err)
            assert.truthy(err:find(words, 1, true), text .. "\n" .. err)
            assert.truthy(err:find("bad.lua", 1, true), err)
        end
        local code, _, err = ctl.run("simulate s --objects 2 --policy-file none.lua")
        assert.equal(74, code)
        assert.truthy(err:find("cannot read none.lua: No such file", 1, true), err)
        code, _, err = ctl.run("simulate - --objects 2 --policy-file own-lru.lua")
        assert.equal(64, code)
        assert.truthy(err:find("which standard input cannot be", 1, true), err)
    end)

    it("has no way to what the library runs with, nor past a limit by catching what it raises", function()
        local reach <const> = "getmetatable('').__index.reverse = nil "
        local caught <const> = "while true do pcall(function() while true do end end) end "
        local reverse = string.reverse
        finally(function() rawset(string, "reverse", reverse) end)
        server.write_file(ctl.folder .. "/s", "a\nb\nc\n")
        local function outcome(text)
            server.write_file(ctl.folder .. "/sly.lua", text)
            local one, message = evicting.open(ctl.folder .. "/sly.lua")
            if one then
                one, message = evicting.play(one, server.slated(), { trace = ctl.folder .. "/s", by_objects = true,
                    words = {} }, { 2 })
            end
            assert.equal(reverse, string.reverse, text)
            return one, message
        end
        for text, words in pairs({
            [reach] = "attempt to index a boolean value",
            [caught] = "took more than 10000000 instructions",
            ["return { init = function() " .. reach .. " end, store = type, victim = type }"] = "index a boolean",
            ["return { store = function() " .. caught .. " end, victim = type }"] = "took more than 10000000",
        }) do
            local rows, message = outcome(text)
            assert.is_nil(rows, text)
            assert.truthy(message:find(words, 1, true), text .. ": " .. message)
        end
        assert(outcome("return setmetatable({ store = function(q, key) q.last = key end, victim = function(q) "
            .. "return q.last end }, { __index = function() " .. reach .. " end })"))
        local rows, message = outcome("string.match = error return { store = type, victim = function() return 1 end }")
        assert.is_nil(rows)
        assert.truthy(message:find("at request 3: victim names a number", 1, true), message)
    end)

    it("is a regular file: a pipe is refused, and not waited for", function()
        assert(os.execute("mkfifo " .. ctl.folder .. "/pipe.lua"))
        local one, message = evicting.open(ctl.folder .. "/pipe.lua")
        assert.is_nil(one)
        assert.truthy(message:find("it is not a regular file", 1, true), message)
    end)

    it("may refuse what is not worth its room", function()
        server.write_file(ctl.folder .. "/picky.lua", "return { name = 'picky', admit = function(_, key) "
            .. "return key ~= 'b' end, store = function() end, victim = function() return nil end }")
        server.write_file(ctl.folder .. "/s", "a\nb\nb\na\n")
        local one = assert(evicting.open(ctl.folder .. "/picky.lua"))
        local rows = assert(evicting.play(one, server.slated(), { trace = ctl.folder .. "/s", by_objects = true,
            words = {} }, { 5 }))
        assert.same({ 4, 1, 2 }, { rows[1].requests, rows[1].hits, rows[1].refused })
    end)
end)
