-- SPDX-License-Identifier: BSD-3-Clause
-- stats pages: every page of every class, in bounded answers.
require "support.world"

local STOCK <const>, PARTITIONS <const> = 8, 16

describe("slated's stats pages", function()
    local rig = require("support.rig").new(after_each, "-m", "16", "-o", "no_slab_automove")
    local stats = rig.stats

    -- Pages by number, as they are listed, and the lines about all of them.
    local function pages(arguments)
        local listed, all = {}, stats("pages" .. (arguments and " " .. arguments or ""))
        for name, text in pairs(all) do
            local number = name:match("^page:(%d+)$")
            if number then
                local class, state, used, chunks, age, idle = text:match("^(%d+) (%a+) (%d+) (%d+) (%d+) (%S+)$")
                listed[tonumber(number)] = { class = tonumber(class), state = state, used = tonumber(used),
                    chunks = tonumber(chunks), age_s = tonumber(age), idle = idle }
            end
        end
        return listed, all
    end

    it("agree with stats slabs, class by class, and come in parts that together are the whole", function()
        rig.start()
        rig.store("small", 20000, 100)
        rig.store("large", 1000, 4000)
        local listed, all = pages()
        local seen, slabs, out = {}, stats("slabs"), 0
        for _, page in pairs(listed) do
            local class = seen[page.class] or { pages = 0, used = 0 }
            seen[page.class] = class
            class.pages, class.used = class.pages + 1, class.used + page.used
            assert.equal("owned", page.state)
            assert.truthy(tonumber(page.idle))
            assert.equal(tonumber(slabs[page.class .. ":chunks_per_page"]), page.chunks)
            assert.is_true(page.used <= page.chunks)
        end
        for class, sum in pairs(seen) do
            assert.equal(tonumber(slabs[class .. ":total_pages"]), sum.pages)
            local used = tonumber(slabs[class .. ":used_chunks"])
            assert.is_true(sum.used >= used and sum.used <= used + STOCK * PARTITIONS, ("class %d: %d of %d"):format(
                class, sum.used, used))
            out = out + sum.pages
        end
        assert.equal(tonumber(all.pages_out), out)
        assert.equal("16", all.pages_limit)
        assert.equal("0", all.next)

        local parts, first, answers = {}, 0, 0
        repeat
            local part, told = pages(first .. " 2")
            local count = 0
            for number, page in pairs(part) do
                assert.is_nil(parts[number])
                parts[number], count = page, count + 1
            end
            assert.is_true(count <= 2)
            first, answers = tonumber(told.next), answers + 1
        until first == 0 or answers > 1000
        for number, page in pairs(listed) do
            assert.equal(page.class, parts[number] and parts[number].class)
            parts[number] = nil
        end
        assert.same({}, parts)
        assert.is_true(answers > 2)
        assert.same({}, (pages("100000000")))
    end)

    it("list nothing where there are no pages", function()
        rig.start("-o", "store=heap")
        rig.store("small", 1000, 100)
        assert.is_nil(next((pages())))
        -- And no cause is named that a command could mend.
        local moves = rig.stats("moves")
        assert.equal("there are no pages to move: only --store=slab has classes of pages", moves.why)
        local geometry = rig.stats("geometry")
        assert.equal("no chunks have sizes in --store=heap", geometry.why)
        assert.equal("0", geometry.classes)
        assert.is_nil(geometry["1:chunk_size"])
    end)

    it("are nothing that a setting could change where there are none", function()
        rig.start("-o", "store=blocks,slab_automove_ratio=0.5")
        for _, change in ipairs {
            "slab_automove 1", "slab_automove_ratio 0.9", "slab_automove_window 20", "slab_geometry_rate 5",
            "slab_geometry_auto yes",
        } do
            assert.equal(("CLIENT_ERROR %s needs --store=slab, this server has blocks"):format(change:match("^%S+")),
                rig.ask("config set " .. change))
        end
        assert.equal("CONFIG slab_automove_ratio 0.50 startup", rig.ask("config get slab_automove_ratio"))
    end)

    it("refuse words that are no page and no count", function()
        rig.start()
        for _, arguments in ipairs { "x", "0 0", "0 4097", "0 x", "0 1 2", "-1", "4294967296" } do
            assert.equal("CLIENT_ERROR usage: stats pages [first [count]], count from 1 to 4096",
                rig.ask("stats pages " .. arguments))
        end
    end)
end)
