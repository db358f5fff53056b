-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl undo.
local command = require "support.command"
local dkjson = require "dkjson"
local document = require "support.document"
local fill = require "support.fill"
local server = require "support.server"
local snapshot = require "slate.facts.snapshot"

local FLOOR <const> = server.quoted(command.root() .. "/tests/fixtures/policies/floor.lua")

for _, kind in ipairs(server.both()) do
    describe("slatectl takes back changes of " .. kind.name, function()
        local ctl = command.beside(setup, teardown, {
            binary = kind.binary, args = { "-m", "12", "-o", "slab_automove=0" }, pages = 3,
        })
        before_each(function() os.remove(ctl.folder .. "/audit.log") end)

        it("sets, verifies and takes back everything that can be set, to the letter", function()
            local before = ctl.settings()
            local wanted = { hot_lru_pct = "25", warm_lru_pct = "33", hot_max_factor = "0.3", warm_max_factor = "3",
                maxbytes = "48m", lru_crawler_sleep = "200", slab_automove = "2", temporary_ttl = "30",
                slab_automove_ratio = "0.7", verbosity = "1" }
            local names = {}
            for name, value in pairs(wanted) do
                ctl.succeed(("set %s=%s"):format(name, value))
                assert.are_not.equal(before[name], ctl.settings()[name], name)
                names[#names + 1] = name
            end
            for _ in ipairs(names) do ctl.succeed("undo") end
            local after = ctl.settings()
            for _, name in ipairs(names) do
                assert.equal(before[name], after[name], name)
            end
            assert.equal(1, (ctl.run("undo"))) -- nothing is left to take back
            assert.truthy(ctl.succeed("audit"):find("hot_lru_pct: 20 -> 25", 1, true))
        end)

        it("takes back a command as a whole, or one named change of it", function()
            local before = ctl.settings()
            ctl.succeed("set verbosity=1")
            ctl.succeed("set lru_crawler_sleep=300 temporary_ttl=30")
            local shown = ctl.succeed("undo --dry-run")
            assert.truthy(shown:find("would undo change 3: set temporary_ttl", 1, true), shown)
            assert.truthy(shown:find("would undo change 2: set lru_crawler_sleep", 1, true), shown)
            assert.equal("300", ctl.settings().lru_crawler_sleep)
            local told = dkjson.decode((ctl.succeed("--json undo")))
            assert.equal(2, #told.changes)
            assert.same({ 3, 2 }, { told.changes[1].undoes, told.changes[2].undoes })
            assert.equal(before.temporary_ttl, ctl.settings().temporary_ttl)
            assert.equal(before.lru_crawler_sleep, ctl.settings().lru_crawler_sleep)
            assert.equal("1", ctl.settings().verbosity) -- another command changed this
            ctl.succeed("set lru_crawler_sleep=300 temporary_ttl=30")
            ctl.succeed("undo 6")
            assert.equal("30", ctl.settings().temporary_ttl)
            assert.equal(before.lru_crawler_sleep, ctl.settings().lru_crawler_sleep)
            ctl.succeed("undo") -- the remaining text of that command
            ctl.succeed("undo")
            assert.same(before, ctl.settings())
        end)

        it("leaves what others changed of a command, takes the rest back, and names what is left", function()
            local before = ctl.settings()
            ctl.succeed("set verbosity=1")
            ctl.succeed("set lru_crawler_sleep=300 temporary_ttl=30")
            ctl.client:command("lru temp_ttl 40")
            local left = "change 3: temporary_ttl is no longer 30 but 40: not taken back\n"
            local dry = ctl.succeed("undo --dry-run")
            assert.equal(("would leave %swould undo change 2: set lru_crawler_sleep 300 -> %s\nnothing was sent\n")
                :format(left, before.lru_crawler_sleep), dry)
            local code, out, err = ctl.run("undo")
            assert.equal(1, code)
            assert.equal(left:gsub(":", " is left:", 1), out:match("^[^\n]*\n"))
            assert.matches("\nchange 2 is taken back: ", out)
            assert.matches("1 of 2 changes were taken back; others changed the rest since; to take it back anyway: "
                .. "slatectl %-s %S+ undo 3 %-%-force; to take back the change before it: slatectl undo 1\n$", err)
            local now = ctl.settings()
            assert.same({ before.lru_crawler_sleep, "40" }, { now.lru_crawler_sleep, now.temporary_ttl })
            ctl.refuses(1, "undo", "temporary_ttl is no longer 30 but 40; nothing was sent; to take it back anyway: "
                .. "slatectl -s ")
            ctl.succeed("undo --force")
            ctl.succeed("undo")
            assert.same(before, ctl.settings())
        end)

        it("puts on record that others took a change back already, and goes on to the change before it", function()
            local before = ctl.settings()
            ctl.succeed("set verbosity=1")
            ctl.succeed("set lru_crawler_sleep=300")
            ctl.client:command("lru_crawler sleep " .. before.lru_crawler_sleep)
            local already = before.lru_crawler_sleep .. " already"
            assert.truthy(ctl.succeed("undo"):find("change 2 is taken back: lru_crawler_sleep is " .. already, 1, true))
            assert.truthy(ctl.succeed("audit"):find("lru_crawler_sleep: " .. already, 1, true))
            ctl.succeed("undo")
            assert.same(before, ctl.settings())
        end)

        it("changes the four settings of lru tune, and lru mode, and finds the way back", function()
            local before = ctl.settings()
            ctl.succeed("set hot_lru_pct=10 warm_lru_pct=50 hot_max_factor=0.1 warm_max_factor=1.5")
            assert.equal("50", ctl.settings().warm_lru_pct)
            ctl.succeed("undo") -- one command changed all four
            ctl.succeed(kind.name == "slated" and "set policy=lru" or "set lru_segmented=no")
            assert.equal("no", ctl.settings().lru_segmented)
            ctl.succeed("undo")
            assert.same(before, ctl.settings())
            assert.equal(64, (ctl.run("set hot_lru_pct=10 warm_lru_pct")))
        end)

        it("takes all pages of a policy's run back at once, however many changes were made since", function()
            local five, twelve = fill.pages_of(ctl.client, 5), fill.pages_of(ctl.client, 12)
            ctl.refuses(1, "undo --run", "no change by a run or a plan to ")
            ctl.succeed(("policy run %s floors=5:%d pages_max=1 --apply --max-moves 3 --interval 50ms"):format(FLOOR,
                five + 3))
            ctl.succeed("set lru_crawler_sleep=150")
            assert.equal(five + 3, fill.pages_of(ctl.client, 5))
            ctl.succeed("undo 2")
            assert.truthy(ctl.succeed("undo --run --dry-run"):find(
                "^would undo change 3: [^\n]*\nwould undo change 1: [^\n]*\nnothing was sent\n$"))
            local out = ctl.succeed("undo 1 --run")
            assert.truthy(out:find("change 3 is taken back: .*change 1 is taken back: .*the pages are back"), out)
            assert.same({ five, twelve }, { fill.pages_of(ctl.client, 5), fill.pages_of(ctl.client, 12) })
            ctl.refuses(1, "undo --run", "no change by a run or a plan to ")
            ctl.succeed("undo")
            assert.equal("100", ctl.settings().lru_crawler_sleep)
        end)

        it("takes back only the pages of a move that others did not move on", function()
            local five, twelve = fill.pages_of(ctl.client, 5), fill.fill(ctl.client, 12)
            ctl.succeed("move 12 5 2 --wait")
            local code, _, err = ctl.shell("SLATE_AUDIT=/dev/null slatectl move 5 12 --wait") -- who keeps no record
            assert.equal(0, code, err)
            assert.truthy(ctl.succeed("undo --dry-run"):find(
                "move 1 page from class 5 to class 12; others moved 1 page on meanwhile\n", 1, true))
            assert.truthy(ctl.succeed("undo"):find("; others moved 1 page on meanwhile\n", 1, true))
            assert.same({ five, twelve }, { fill.pages_of(ctl.client, 5), fill.pages_of(ctl.client, 12) })
            ctl.succeed("move 12 5 --wait")
            assert.equal(0, (ctl.shell("SLATE_AUDIT=/dev/null slatectl move 5 12 --wait")))
            ctl.refuses(1, "undo", "change 3 cannot be taken back: the pages of class 5 were moved on meanwhile; ")
            assert.same({ five, twelve }, { fill.pages_of(ctl.client, 5), fill.pages_of(ctl.client, 12) })
        end)

        it("takes no move back after a restart, which gives pages anew, and offers the change before it", function()
            ctl.succeed("set lru_crawler_sleep=150")
            ctl.succeed("move 12 5 --wait")
            local five = fill.pages_of(ctl.client, 5)
            local path = ctl.folder .. "/audit.log"
            local text, general = command.read_file(path), snapshot.take(ctl.client).general
            local pid, started_s = ('"pid":%d'):format(general.pid), general.time - general.uptime
            for _, other in ipairs({ { pid, '"pid":7' }, { '"started_s":%d+', '"started_s":' .. started_s - 9 } }) do
                local changed, count = text:gsub(other[1], other[2])
                assert.equal(1, count, text)
                server.write_file(path, changed)
                ctl.refuses(1, "undo", "slatectl: change 2 cannot be taken back: the server was restarted since")
                ctl.refuses(1, "undo", "to take back the change before it: slatectl undo 1\n")
                ctl.refuses(1, "undo 2 --dry-run", "restarted since, and its pages were given anew\n")
            end
            assert.equal(five, fill.pages_of(ctl.client, 5))
            server.write_file(path, text)
            ctl.succeed("undo")
            assert.equal(five - 1, fill.pages_of(ctl.client, 5))
            ctl.succeed("undo")
        end)
    end)
end

describe("slatectl takes back what only slated has", function()
    local ctl = command.beside(setup, teardown, { args = { "-m", "16", "-o", "slab_automove=0" } })
    before_each(function() os.remove(ctl.folder .. "/audit.log") end)

    it("the policies of classes go back to the letter, also under a policy of the whole", function()
        local before = ctl.settings().policy
        ctl.succeed("set 'class_policy=sieve 5'")
        ctl.succeed("set class_policy 'lru 7'")
        local with_classes = ctl.settings().policy
        assert.equal(before .. " 5=sieve,7=lru", with_classes)
        ctl.succeed("set policy=fifo")
        assert.equal("fifo", ctl.settings().policy)
        ctl.succeed("set policy=s3auto") -- a choice, not a policy: the server shows the chosen policy, too
        assert.equal("s3auto", ctl.settings().policy)
        ctl.succeed("undo")
        assert.equal("fifo", ctl.settings().policy)
        ctl.succeed("undo")
        assert.equal(with_classes, ctl.settings().policy)
        ctl.succeed("undo")
        ctl.succeed("undo")
        assert.equal(before, ctl.settings().policy)
    end)

    it("the policy of a class that somebody changed since is left alone", function()
        ctl.succeed("set 'class_policy=sieve 5'")
        assert.equal("OK", ctl.client:command("evict policy lru 5"))
        ctl.refuses(1, "undo", "class_policy is no longer sieve 5 but lru 5")
        ctl.succeed("undo --force")
        assert.is_nil(ctl.settings().policy:find(" ", 1, true))
    end)

    it("the last change of the chunk sizes goes back, not an earlier one in its place", function()
        local function count() return require("slate.facts.geometry").read(ctl.client).classes end
        local before = count()
        ctl.succeed("geometry sizes 96,500,4000 --force --wait")
        ctl.succeed("geometry sizes 96,1000 --force --wait")
        ctl.refuses(1, "undo 1", "since change 1")
        assert.equal(3, count())
        ctl.succeed("undo")
        assert.equal(4, count())
        ctl.refuses(1, "undo 1", "since change 1") -- the server goes back by one change, and that was the one
        assert.truthy(before > 4)
    end)

    it("the chunk sizes are shown, predicted, changed and taken back", function()
        local function count() return #document((ctl.succeed("geometry --json"))).classes end
        ctl.succeed("geometry factor 1.25 --force --wait")
        local before = count()
        local dry = ctl.succeed("geometry factor 1.5 --dry-run")
        for _, part in ipairs({ "would send: slabs geometry factor 1.5\nnothing was changed\n", "predicted: ",
            "\nsizes: 96, " }) do
            assert.truthy(dry:find(part, 1, true), dry)
        end
        assert.truthy(dry:gsub("%s+", " "):find("sizes that no item has yet would waste", 1, true), dry)
        for line in dry:gmatch("[^\n]+") do assert.is_true(#line <= 80, line) end
        assert.is_nil(dry:find("automatic sizes", 1, true), "they are off already")
        local predicted = document((ctl.succeed("geometry auto --dry-run --json")))
        assert.equal(524288, predicted.sizes[#predicted.sizes])
        ctl.refuses(64, "geometry sizes 100,600000 --dry-run", "sizes must ascend")
        ctl.succeed("geometry factor 1.5 --force --wait")
        assert.is_true(count() < before, "a larger factor makes fewer classes")
        assert.truthy(ctl.succeed("geometry"):find(" % before, ", 1, true), "the waste is shown")
        ctl.refuses(1, "geometry factor 1.5", "these are the chunk sizes already")
        assert.truthy(ctl.succeed("audit"):find("slabs geometry factor 1.5", 1, true))
        assert.truthy(ctl.succeed("undo"):find("slabs geometry revert", 1, true))
        repeat until document((ctl.succeed("geometry --json"))).change.state == "steady"
        assert.equal(before, count())
        ctl.succeed("set slab_geometry_auto=yes")
        dry = ctl.succeed("geometry factor 1.5 --dry-run"):gsub("%s+", " ")
        assert.truthy(dry:find("also sets automatic sizes off: the server no longer fits", 1, true), dry)
        ctl.succeed("geometry factor 1.5 --force --wait")
        assert.truthy(ctl.succeed("geometry"):find("auto +off: slatectl set slab_geometry_auto yes"))
        local back <const> = "slabs geometry revert, then config set slab_geometry_auto yes"
        assert.truthy(ctl.succeed("undo --dry-run"):find(back, 1, true))
        assert.truthy(ctl.succeed("undo"):find(back, 1, true))
        assert.equal("yes", document((ctl.succeed("geometry --json"))).change.auto)
    end)

    it("a change that cannot be taken back does not stand before the others", function()
        ctl.succeed("set verbosity=1")
        ctl.succeed("set lru_crawler_sleep=300")
        ctl.succeed("undo")
        local file = assert(io.open(ctl.folder .. "/audit.log", "a"))
        local entry = '{"schema":"slate/audit/1","id":%d,"time_s":1,"server":"%s",%s}\n'
        file:write(entry:format(4, ctl.one.address, '"what":"move","src":-1,"dst":5,"pages":1'),
            entry:format(5, "elsewhere:1", '"what":"set","name":"verbosity","was":"0","is":"1"'),
            entry:format(6, ctl.one.address, '"what":"set","name":"slab_automove","was":"lua:gone","is":"0"'))
        file:close()
        ctl.refuses(64, "undo", "change 6 cannot be taken back")
        ctl.refuses(64, "undo", "the change before it: slatectl undo 1\n")
        ctl.refuses(1, "undo 4", "the server chose the source itself\n")
        ctl.succeed("undo 1")
        assert.equal("0", ctl.settings().verbosity)
        local _, _, err = ctl.run("undo")
        assert.is_nil(err:find("before it", 1, true), err) -- no other is left
    end)
end)
