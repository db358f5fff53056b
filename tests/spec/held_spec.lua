-- SPDX-License-Identifier: BSD-3-Clause
-- Memory held beyond the limit: slatectl doctor, check and fleet report it, and slatetop by the same rule.
local command = require "support.command"
local dkjson = require "dkjson"
local doctor = require "slate.judge.doctor"
local starving = require "slate.judge.starving"
local snapshots = require "support.snapshots"

local MIB <const> = 1 << 20

-- Two samples a second apart of a server with a limit, in MiB, and so much held in each; about: classes, each with a
-- share of the pages (1), settings, stock (a memcached).
local function samples(limit, first, second, about)
    about = about or {}
    local function at(time_s, mib)
        local classes, count = {}, about.classes or 1
        for id = 1, count do
            classes[id] = { chunk_size = 1024, chunks_per_page = 1024, total_pages = mib // count, used_chunks = 1,
                total_chunks = 1024, free_chunks = 0, number = 1, age = 5, evicted = 0 }
        end
        local general = { limit_maxbytes = limit * MIB, evictions = 0, cmd_get = time_s // 1 }
        local one = snapshots.make(time_s, classes, general,
            about.settings or { slab_reassign = true })
        one.totals, one.slated = { total_malloced = mib * MIB }, not about.stock and "0.1.0" or nil
        return one
    end
    return at(1000, first), at(1001, second)
end

local function by_slatetop(before, after)
    local text = snapshots.in_slatetop({ before, after })
    return text:match("(%u%u%u+ +the server holds [^\n]+)") or text:match("(note +the server holds [^\n]+)")
end

describe("memory beyond the limit", function()
    it("is found from a tenth and four lasting pages on", function()
        for _, case in ipairs({
            { 64, 64, 64, false }, { 64, 70, 70, false }, { 64, 71, 71, true }, -- more than a tenth
            { 8, 12, 12, false }, { 8, 13, 13, true }, -- more than four pages
            { 64, 64, 128, false }, { 64, 128, 64, false }, { 64, 128, 70, false }, -- for a moment
            { 64, 128, 100, true }, { 1024, 1100, 1100, false }, { 1024, 1200, 1200, true },
        }) do
            local before, after = samples(case[1], case[2], case[3])
            assert.equal(case[4], starving.held_over(after, before).is_much, table.concat(case, " ", 1, 3))
        end
        local before, after = samples(64, 100, 100)
        after.totals = {}
        assert.is_nil(starving.held_over(after, before), "a server that does not tell")
    end)

    local function told(...)
        local before, after = samples(...)
        for _, finding in ipairs(doctor.findings({ now = after, before = before })) do
            if finding.term == "memory.held" then
                return finding, by_slatetop(before, after)
            end
        end
    end

    it("has its figures and its remedy", function()
        local finding, shown = told(8, 39, 39, { classes = 39 })
        assert.equal("critical", finding.severity)
        assert.equal("the server holds 39 MiB of memory, 388% more than its limit of 8 MiB: each of 39 classes "
            .. "keeps a page",
            finding.what)
        assert.equal("raise the limit to what 39 classes hold: slatectl set memory=39m; or have fewer classes, at the "
            .. "price of items: slatectl geometry auto 8 --force", finding.todo)
        assert.equal("BAD    " .. finding.what, shown)
        assert.truthy(told(8, 39, 39, { classes = 39, stock = true }).todo:find("items: start it with a larger %-f$"))
        finding, shown = told(64, 100, 90)
        assert.equal("note", finding.severity) -- the memory held is falling
        assert.truthy(finding.what:find("and gives it back", 1, true), finding.what)
        assert.equal("note   " .. finding.what, shown)
        finding, shown = told(64, 90, 90, { settings = { slab_reassign = false } })
        assert.equal("warning", finding.severity)
        assert.truthy(finding.todo:find("without slab_reassign", 1, true), finding.todo)
        assert.equal("WARN   " .. finding.what, shown)
        finding, shown = told(64, 90, 90, { stock = true })
        assert.truthy(finding.todo:find("slatectl move 1 0", 1, true), finding.todo)
        assert.equal("WARN   " .. finding.what, shown)
    end)
end)

describe("a server of more classes than pages", function()
    local ctl = command.beside(setup, teardown, { args = { "-m", "8", "-n", "64", "-f", "1.25" } })
    setup(function()
        for power = 6, 18 do -- an item in each of two dozen classes
            assert(ctl.client:set("a" .. power, ("x"):rep(1 << power)))
            assert(ctl.client:set("b" .. power, ("x"):rep(3 << (power - 1))))
        end
    end)

    it("is found by doctor, check and fleet, with fewer classes advised", function()
        local code, out = ctl.run("doctor --interval 20ms --json")
        assert.equal(1, code, out)
        local worst = dkjson.decode(out).findings[1]
        assert.equal("memory.held", worst.term)
        code, out = ctl.run("check --interval 20ms")
        assert.equal(2, code, out)
        assert.truthy(out:find("^CRITICAL %- %S+ over=%d+%% | .*'over'=%d+%%;10;100"), out)
        code, out = ctl.run("check --interval 20ms --warn over=5000")
        assert.equal(0, code, out)
        out = select(2, ctl.run("fleet --interval 20ms"))
        assert.truthy(out:find("holds %d+ MiB of 8 MiB"), out)
        code, out = ctl.run("advise sizes --json")
        assert.equal(0, code, out)
        assert.equal("slatectl geometry auto --wait", dkjson.decode(out).commands[1])
    end)
end)
