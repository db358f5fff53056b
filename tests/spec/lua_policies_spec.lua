-- SPDX-License-Identifier: BSD-3-Clause
-- The ready-made policies by their own checks, and their manual. At work: slatectl_policy_spec, slated_lua_policy_spec.
local command = require "support.command"
local dkjson = require "dkjson"

describe("slate-policies(7)", function()
    local manual = command.read_file("man/slate-policies.7")

    it("documents every policy, every limit and every field that slated shows", function()
        local pipe = assert(io.popen("build/unit/daemon/test_tune_lua_policy --export free-pages"))
        local text = pipe:read("a")
        assert(pipe:close())
        local one = dkjson.decode(text:match("\nsnapshot (%b{})"))
        local names = { "evicted" }
        for name in pairs(one.classes[1]) do names[#names + 1] = name end
        assert.is_true(#names > 10)
        for _, name in ipairs(names) do
            assert.truthy(manual:find("\n.It Va " .. name .. "\n", 1, true), name)
        end
        for name in pairs(one) do
            assert.truthy(name == "general" or manual:find("[ ,]" .. name .. "[ \n]"), name)
        end
        for name in io.popen("ls lua/slate/policies"):lines() do
            local short = name:match("^(.*)%.lua$")
            assert.truthy(not short or manual:find("\n.It Cm " .. short .. "\n", 1, true), name)
        end
    end)
end)

describe("every policy", function()
    it("passes its own checks, and those for all, without a remark", function()
        local ctl = command.new()
        local code, out = ctl.run("policy list --json")
        assert.equal(0, code)
        local list = assert(dkjson.decode(out)).policies
        assert.equal(4, #list)
        local names = {}
        for i, one in ipairs(list) do
            assert.is_string(one.summary)
            names[i] = one.name
        end
        -- Some at a time: each takes more than a second of processor time.
        local failed, said, err = ctl.shell("printf '%s\\n' " .. table.concat(names, " ")
            .. " | xargs -P 4 -I{} sh -c 'slatectl policy test --json {} >{}.json'")
        assert.equal(0, failed, said .. err)
        for _, name in ipairs(names) do
            local report = assert(dkjson.decode(command.read_file(("%s/%s.json"):format(ctl.folder, name))), name)
            assert.same({}, report.remarks)
            assert.is_true(report.decisions > 50)
            assert.is_true(#report.checks >= 4, name)
        end
        ctl.remove()
    end)
end)

describe("slatectl policy test", function()
    local ctl = command.alone(setup, teardown)

    it("finds the errors of a policy", function()
        local code, _, err = ctl.shell("echo 'return { decide = function(b, a) return { { from = a.classes[1].id, "
            .. "to = 99, reason = \"r\" } } end }' >bad.lua; slatectl policy test bad.lua")
        assert.equal(1, code)
        assert.truthy(err:find("policy bad is broken on nothing stored: bad.lua:1: attempt", 1, true), err)
        local out
        code, out = ctl.shell("echo 'return { decide = function(b, a) local c = a.classes return #c == 2 and "
            .. "c[1].total_pages > 1 and { { from = c[1].id, to = c[2].id, reason = \"r\" } } or {}, \"no\" end }' "
            .. ">plain.lua; slatectl policy test plain.lua")
        assert.equal(0, code)
        assert.truthy(out:find("remark: it has no summary", 1, true), out)
        code, out, err = ctl.shell("echo 'return { decide = function() return {}, \"no\" end }' >idle.lua; "
            .. "slatectl policy test idle.lua")
        assert.equal(1, code)
        assert.truthy(out:find("failed: it moves pages: no move in ", 1, true), out)
        assert.truthy(err:find("policy idle fails 1 check of 1", 1, true), err)
    end)
end)
