-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl looks at servers, moves their pages, and changes the chunk sizes of slated.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local document = require "support.document"
local fill = require "support.fill"
local server = require "support.server"
local traffic = require "support.traffic"

for _, kind in ipairs(server.all()) do
    describe("slatectl on " .. kind.name, function()
        local one, client, ctl

        setup(function()
            one = server.start({ binary = kind.binary, args = { "-m", "32", "-o", "slab_automove=0" } })
            client = one:connect()
            ctl = command.new({ server = one.address })
            assert.equal(2, fill.fill(client, 5, 2))
            assert.is_true(fill.fill(client, 12) >= 6) -- all that is left, so that no pool hides a move
        end)
        teardown(function()
            client:close()
            ctl.remove()
            one:stop()
        end)

        it("writes valid JSON with a documented schema for every command", function()
            for _, arguments in ipairs({ "top --interval 50ms", "classes --interval 50ms", "classes --interval 0",
                "stats", "stats slabs", "stats items", "stats settings", "stats conns", "stats sizes", "stats reset",
                "settings", "automove", "move 12 5 --dry-run --interval 20ms",
                "record -o j.jsonl --count 2 --interval 20ms", "chart pages j.jsonl", "version",
                "help" }) do
                document((ctl.succeed(arguments .. " --json")))
                os.remove(arguments:find("^chart") and ctl.folder .. "/j.jsonl" or "")
            end
        end)

        it("takes shared options before and after the command", function()
            assert.equal(ctl.succeed("--json settings maxbytes"), ctl.succeed("settings maxbytes --json"))
            assert.equal(ctl.succeed("settings maxbytes"), ctl.succeed("-s " .. one.address .. " settings maxbytes"))
        end)

        it("shows the overview and the classes that matter", function()
            local out = ctl.succeed("top --interval 50ms")
            for _, part in ipairs({ one.address, "hits ", "gets/s", "memory", "CLASS", "automove 0" }) do
                assert.truthy(out:find(part, 1, true), out)
            end
            assert.is_nil(out:find("\27", 1, true))
        end)

        it("repeats top for the rounds asked for, one JSON line each", function()
            local out = ctl.succeed("top -w 50ms --count 3 --json")
            local rounds = 0
            for line in out:gmatch("[^\n]+\n") do
                rounds = rounds + 1
                assert.is_true(document(line).interval_s > 0)
            end
            assert.equal(3, rounds)
            assert.equal(2, select(2, ctl.succeed("top -w 50ms --count 2"):gsub("hits ", "")))
        end)

        it("lists the classes with the server's own numbers", function()
            local rows = {}
            for _, row in ipairs(document((ctl.succeed("classes --interval 0 --json"))).classes) do
                rows[row.id] = row
            end
            assert.equal(fill.pages_of(client, 12), rows[12].pages)
            assert.equal(fill.pages_of(client, 5), rows[5].pages)
            assert.is_nil(rows[12].set_per_s)
            assert.is_true(rows[12].used_ratio > 0 and rows[12].used_ratio <= 1)
            local few = document((ctl.succeed("classes --interval 0 --json --sort pages --top 1")))
            assert.equal(12, few.classes[1].id)
            assert.equal(1, #few.classes)
            assert.is_true(few.truncated >= 1)
            assert.equal(5, document((ctl.succeed("classes 5 --interval 0 --json"))).classes[1].id)
            local code, _, err = ctl.run("classes 63 --interval 0")
            assert.equal(1, code)
            assert.truthy(err:find("class 63 holds nothing", 1, true))
        end)

        it("shows rates where there is traffic", function()
            local code, out = traffic.beside(ctl, one.address, "classes --interval 1s --json")
            assert.equal(0, code)
            local busy = false
            for _, row in ipairs(document(out).classes) do
                busy = busy or (row.set_per_s or 0) > 0
            end
            assert.is_true(busy)
        end)

        it("prints statistics with the server's names in the server's order", function()
            local names = {}
            for _, line in ipairs(client:stats("settings")) do
                names[#names + 1] = line:match("^STAT (%S+)")
            end
            local shown = {}
            for line in ctl.succeed("stats settings"):gmatch("[^\n]+") do
                shown[#shown + 1] = line:match("^%S+")
            end
            assert.same(names, shown)
        end)

        it("says what the server does not know, and what needs slated", function()
            local code, _, err = ctl.run("stats nonsense")
            assert.equal(3, code)
            assert.truthy(err:find("does not know 'stats nonsense'", 1, true))
            if not kind.is_slated then
                code, _, err = ctl.run("stats policies")
                assert.equal(3, code)
                assert.truthy(err:find("needs slated", 1, true))
            end
        end)

        it("finds settings by a part of their name", function()
            assert.truthy(ctl.succeed("settings automove"):find("^slab_automove"))
            assert.equal(1, (ctl.run("settings nothing-like-it")))
            if kind.is_slated then -- those that only stats config has, too
                assert.truthy(ctl.succeed("settings s3fifo"):find("^s3fifo_small_percent +10\n"))
                assert.truthy(ctl.succeed("settings"):find("\nslab_geometry_auto +%l+\n"))
            end
        end)

        it("explains a move without sending it", function()
            local before = fill.pages_of(client, 12)
            local out, err = ctl.succeed("move 12 5 2 --dry-run --interval 20ms --trace")
            assert.truthy(out:find("slabs reassign 12 5", 1, true))
            assert.truthy(out:find(("class 12: %d -> %d pages"):format(before, before - 2), 1, true))
            assert.truthy(out:find("nothing was sent", 1, true))
            assert.is_nil(err:find("> slabs", 1, true))
            assert.equal(before, fill.pages_of(client, 12))
        end)

        it("sends nothing for a class the server does not use or a page it cannot give", function()
            local requests = { "12 63", "-1 63", "62 12", "12 5 63", "12 12", "12 256" }
            if kind.is_slated then
                requests = { "62 12", "12 5 63", "12 12", "12 256" }
            end
            for _, request in ipairs(requests) do
                local code, _, err = ctl.run("move " .. request .. " --trace")
                assert.truthy(code == 1 or code == 64, request .. ": " .. code)
                assert.is_nil(err:find("> slabs", 1, true), err)
            end
        end)

        it("moves pages, waits, and tells the truth about the outcome", function()
            local src, dst = fill.pages_of(client, 12), fill.pages_of(client, 5)
            local out, err = ctl.succeed("move 12 5 2 --wait --json --trace")
            local result = document(out)
            assert.equal("moved", result.state)
            assert.equal(2, result.pages_moved)
            assert.equal(src - 2, fill.pages_of(client, 12))
            assert.equal(dst + 2, fill.pages_of(client, 5))
            assert.equal(src - 2, result.src_pages_after)
            assert.equal(dst + 2, result.dst_pages_after)
            assert.equal(kind.is_slated and 1 or 2, select(2, err:gsub("> slabs reassign", "")))
            assert.truthy(ctl.succeed("move 12 0 --wait"):find("from class 12 to the global pool", 1, true))
        end)

        it("does not call lost items none when a full class gives pages", function()
            local function items()
                return document((ctl.succeed("classes 12 --interval 0 --json"))).classes[1].items
            end
            assert.is_true(fill.fill(client, 12) >= 4)
            local before = items()
            local out = ctl.succeed("move 12 5 2 --wait --json")
            local result, gone = document(out), before - items()
            assert.is_true(gone > 0)
            if kind.is_slated then
                assert.equal(gone, result.items_lost)
                assert.truthy(result.words:find(("; %d items? lost"):format(gone)), result.words)
            else
                assert.truthy(out:find('"items_lost":null', 1, true), out)
                assert.is_nil(result.words:find("lost", 1, true), result.words)
                assert.is_true(result.items_evicted_at_most >= gone, out)
            end
        end)

        it("writes singular for one", function()
            local one_class = ctl.succeed("classes 5 --interval 0")
            local count = #document((ctl.succeed("classes --interval 0 --json"))).classes
            assert.truthy(one_class:find(("1 of %d class%s, "):format(count, count == 1 and "" or "es"), 1, true),
                one_class)
            local _, err = ctl.succeed("record -o one.jsonl --count 1")
            assert.truthy(err:find("1 snapshot written to one.jsonl", 1, true), err)
        end)

        it("shows and sets automove, and checks that it is set", function()
            for mode, name in pairs({ [2] = "eviction", [1] = "ratio", [0] = "off" }) do
                assert.equal(mode, document((ctl.succeed("automove " .. name .. " --json"))).mode)
                assert.equal(mode, document((ctl.succeed("automove " .. mode .. " --json"))).mode)
                assert.equal(name, document((ctl.succeed("automove --json"))).name)
            end
            ctl.succeed("automove 0")
            assert.equal(64, (ctl.run("automove 'ratio 0.5'")))
        end)

        it("sends other automove modes on, and puts the server's refusal in a sentence", function()
            for _, mode in ipairs({ "sideways", "lua:", "3", "window" }) do
                local code, out, err = ctl.run("automove " .. mode .. " --trace")
                assert.equal(3, code, mode)
                assert.equal("", out)
                assert.truthy(err:find("> slabs automove " .. mode .. "\n", 1, true), err)
                assert.truthy(err:find("has no automove mode '" .. mode .. "' (", 1, true), err)
                assert.truthy(err:find("off[,|] ?ratio.*eviction.*%); it stays as it was\n"), err)
                assert.equal(kind.is_slated, err:find("utility", 1, true) ~= nil, err)
                assert.equal(0, document((ctl.succeed("automove --json"))).mode)
            end
        end)

        it("shows the moves of pages, or that the server keeps no record of them", function()
            if kind.is_slated then
                ctl.succeed("automove off")
                local totals = document((ctl.succeed("moves --json"))).totals
                assert.equal("off", totals.mode)
                local out = ctl.succeed("moves")
                assert.truthy(out:find("mode +off\n"), out)
                assert.truthy(out:find("so far +%d+ pages? moved"), out)
            else
                local code, _, err = ctl.run("moves")
                assert.equal(3, code)
                assert.truthy(err:find("needs slated", 1, true), err)
            end
        end)

        it("offers only automove modes that work", function()
            local modes = 0
            for name in ctl.succeed("help automove"):match("0 or .-eviction"):gmatch("%d or (%l+)") do
                ctl.succeed("automove " .. name)
                modes = modes + 1
            end
            assert.equal(3, modes)
            ctl.succeed("automove 0")
        end)

        it("runs the example of the library's README", function()
            local file = assert(io.open(ctl.folder .. "/example.lua", "w"))
            file:write(command.read_file("lua/README.md"):match("```lua\n(.-)```"))
            file:close()
            local environment = ("SLATE_SERVER=%s LUA_PATH=%s"):format(one.address,
                server.quoted(ctl.root .. "/lua/?.lua"))
            local code, out, err = ctl.shell(environment .. " lua5.4 example.lua")
            assert.equal(0, code, err)
            assert.truthy(out:find("12\t%d"), out)
        end)
    end)
end

for _, kind in ipairs(server.all()) do
    describe("slatectl geometry on " .. kind.name, function()
        local one, ctl

        setup(function()
            one = server.start({ binary = kind.binary, args = { "-m", "32" } })
            ctl = command.new({ server = one.address })
        end)
        teardown(function()
            ctl.remove()
            one:stop()
        end)

        it("shows and changes the chunk sizes, or says that the server keeps its own", function()
            if not kind.is_slated then
                local code, _, err = ctl.run("geometry auto")
                assert.equal(3, code)
                assert.truthy(err:find("needs slated", 1, true), err)
                return
            end
            local shown = document((ctl.succeed("geometry --json")))
            assert.equal("steady", shown.change.state)
            local before = #shown.classes
            local dry = ctl.succeed("geometry factor 1.5 --dry-run")
            assert.truthy(dry:find("would send: slabs geometry factor 1.5\nnothing was changed\n", 1, true))
            assert.truthy(dry:find("^predicted: "), dry)
            for line in dry:gmatch("[^\n]+") do
                assert.is_true(#line <= 80, line)
            end
            assert.truthy(dry:find("\nsizes: 96, ", 1, true), dry)
            assert.truthy(dry:gsub("%s+", " "):find("sizes that no item has yet would waste", 1, true), dry)
            local predicted = document((ctl.succeed("geometry auto --dry-run --json")))
            assert.equal("string", type(predicted.predicted))
            assert.equal(524288, predicted.sizes[#predicted.sizes])
            local refused, _, why = ctl.run("geometry sizes 100,600000 --dry-run")
            assert.equal(64, refused)
            assert.truthy(why:find("sizes must ascend", 1, true), why)
            assert.equal(before, #document((ctl.succeed("geometry --json"))).classes)
            ctl.succeed("geometry factor 1.5 --force --wait")
            local changed = document((ctl.succeed("geometry show --json")))
            assert.truthy(#changed.classes < before, "a larger factor makes fewer classes")
            assert.truthy(ctl.succeed("geometry"):find(" % before, ", 1, true), "the waste is shown")
            local code, _, err = ctl.run("geometry factor 1.5")
            assert.equal(1, code)
            assert.truthy(err:find("these are the chunk sizes already", 1, true), err)
            assert.truthy(ctl.succeed("audit"):find("slabs geometry factor 1.5", 1, true))
            assert.truthy(ctl.succeed("undo --dry-run"):find("slabs geometry revert", 1, true))
            ctl.succeed("undo")
            for _ = 1, 500 do
                if document((ctl.succeed("geometry --json"))).change.state == "steady" then
                    break
                end
            end
            assert.equal(before, #document((ctl.succeed("geometry --json"))).classes)
        end)
    end)
end
