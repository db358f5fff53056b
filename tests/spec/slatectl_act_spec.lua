-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl set, plan, apply, undo, trial and the record of changes.
local command = require "support.command"
local dkjson = require "dkjson"
local document = require "support.document"
local fill = require "support.fill"
local bounds = require "slate.judge.bounds"
local pipeline = require "support.pipeline"
local server = require "support.server"
local snapshot = require "slate.facts.snapshot"

local FLOOR <const> = server.quoted(command.root() .. "/tests/fixtures/policies/floor.lua")

for _, kind in ipairs(server.both()) do
    describe("slatectl acts on " .. kind.name, function()
        local ctl = command.beside(setup, teardown, {
            binary = kind.binary, args = { "-m", "12", "-o", "slab_automove=0" }, pages = 3,
        })
        local once = kind.is_slated and it or function() end -- for claims that hold for every server
        before_each(function() os.remove(ctl.folder .. "/audit.log") end)

        -- The settings and the eviction policy, as the server writes them.
        local function settings() return (assert(require("slate.facts.runtime").read(ctl.client))) end

        it("sets, verifies and takes back everything that can be set, to the letter", function()
            local before = settings()
            local wanted = { hot_lru_pct = "25", warm_lru_pct = "33", hot_max_factor = "0.3", warm_max_factor = "3",
                maxbytes = "48m", lru_crawler_sleep = "200", slab_automove = "2", temporary_ttl = "30",
                slab_automove_ratio = "0.7", verbosity = "1" }
            local names = {}
            for name, value in pairs(wanted) do
                ctl.succeed(("set %s=%s"):format(name, value))
                assert.are_not.equal(before[name], settings()[name], name)
                names[#names + 1] = name
            end
            for _ in ipairs(names) do ctl.succeed("undo") end
            local after = settings()
            for _, name in ipairs(names) do
                assert.equal(before[name], after[name], name)
            end
            assert.equal(1, (ctl.run("undo"))) -- nothing is left to take back
            assert.truthy(ctl.succeed("audit"):find("hot_lru_pct: 20 -> 25", 1, true))
        end)

        it("takes back a command as a whole, or one named change of it", function()
            local before = settings()
            ctl.succeed("set verbosity=1")
            ctl.succeed("set lru_crawler_sleep=300 temporary_ttl=30")
            local shown = ctl.succeed("undo --dry-run")
            assert.truthy(shown:find("would undo change 3: set temporary_ttl", 1, true), shown)
            assert.truthy(shown:find("would undo change 2: set lru_crawler_sleep", 1, true), shown)
            assert.equal("300", settings().lru_crawler_sleep)
            local told = dkjson.decode((ctl.succeed("--json undo")))
            assert.equal(2, #told.changes)
            assert.same({ 3, 2 }, { told.changes[1].undoes, told.changes[2].undoes })
            assert.equal(before.temporary_ttl, settings().temporary_ttl)
            assert.equal(before.lru_crawler_sleep, settings().lru_crawler_sleep)
            assert.equal("1", settings().verbosity) -- another command changed this
            ctl.succeed("set lru_crawler_sleep=300 temporary_ttl=30")
            ctl.succeed("undo 6")
            assert.equal("30", settings().temporary_ttl)
            assert.equal(before.lru_crawler_sleep, settings().lru_crawler_sleep)
            ctl.succeed("undo") -- the remaining text of that command
            ctl.succeed("undo")
            assert.same(before, settings())
        end)

        it("takes nothing back of a command of which one change cannot be", function()
            local before = settings()
            ctl.succeed("set lru_crawler_sleep=300 temporary_ttl=30")
            ctl.client:command("lru temp_ttl 40")
            ctl.refuses(1, "undo", "temporary_ttl is no longer 30 but 40; nothing was sent; to take it back anyway: "
                .. "slatectl -s ")
            assert.equal("300", settings().lru_crawler_sleep)
            ctl.succeed("undo --force")
            assert.same(before, settings())
        end)

        it("puts on record that others took a change back already, and goes on to the change before it", function()
            local before = settings()
            ctl.succeed("set verbosity=1")
            ctl.succeed("set lru_crawler_sleep=300")
            ctl.client:command("lru_crawler sleep " .. before.lru_crawler_sleep)
            local already = before.lru_crawler_sleep .. " already"
            assert.truthy(ctl.succeed("undo"):find("change 2 is taken back: lru_crawler_sleep is " .. already, 1, true))
            assert.truthy(ctl.succeed("audit"):find("lru_crawler_sleep: " .. already, 1, true))
            ctl.succeed("undo")
            assert.same(before, settings())
        end)

        it("changes the four settings of lru tune, and lru mode, and finds the way back", function()
            local before = settings()
            ctl.succeed("set hot_lru_pct=10 warm_lru_pct=50 hot_max_factor=0.1 warm_max_factor=1.5")
            assert.equal("50", settings().warm_lru_pct)
            ctl.succeed("undo") -- one command changed all four
            ctl.succeed(kind.name == "slated" and "set policy=lru" or "set lru_segmented=no")
            assert.equal("no", settings().lru_segmented)
            ctl.succeed("undo")
            assert.same(before, settings())
            assert.equal(64, (ctl.run("set hot_lru_pct=10 warm_lru_pct")))
        end)

        it("sends nothing that a server or its version would not take, and ends with 64 for a wrong value", function()
            local before = settings()
            for arguments, wanted in pairs({ ["set growth_factor=2"] = kind.is_slated and 77 or 3,
                ["set nonsense=1"] = 3, ["set hot_lru_pct=99"] = 64, ["set slab_automove_window=2"] = 64,
                ["set slab_automove_window=99999"] = 64,
                ["set maxbytes=1m"] = 64, ["set slab_automove=7"] = 64, ["--read-only set hot_lru_pct=30"] = 77,
                ["set a"] = 64, ["set policy=nonsense"] = kind.is_slated and 64 or 3,
                ["set slab_automove_ratio=x"] = 64, ["set hot_lru_pct=90 warm_lru_pct=90"] = 64 }) do
                local code, _, err = ctl.run(arguments)
                local unknown = code == 3 and (err:find("has no setting", 1, true) -- an error of that version
                    or err:find(": needs memcached 1%.6%.%d+ or later\n$"))
                assert.truthy(code == wanted or unknown, arguments .. ": " .. code .. " " .. err)
                assert.truthy(err:find("^slatectl: [^\n]+\n$"), err)
            end
            assert.truthy(ctl.succeed("set hot_lru_pct=30 --dry-run"):find("nothing was sent", 1, true))
            assert.same(before, settings())
            assert.is_nil(io.open(ctl.folder .. "/audit.log"))
        end)

        it("prints before a move the reply that the server would give", function()
            for arguments, wanted in pairs({ ["12 99"] = "99", ["5 12 3"] = "keeps its last one",
                ["pool 12 60"] = "cannot give 60" }) do
                local dry_code, _, dry = ctl.run("move " .. arguments .. " --dry-run")
                local code, _, err = ctl.run("move " .. arguments)
                assert.truthy(dry_code == 1 and code == 1, dry .. err)
                assert.equal(dry, err)
                assert.truthy(dry:find(wanted, 1, true), dry)
            end
            local all_but_one = fill.pages_of(ctl.client, 12) - 1
            local out = ctl.succeed(("move 12 5 %d --dry-run --interval 50ms"):format(all_but_one))
            assert.truthy(out:find("\ncaution: class 12 is left with one page: it evicts nearly all it has\n"
                .. "fewer than 1000 reads were seen: too few for a prediction\nnothing was sent\n", 1, true), out)
        end)

        it("moves pages, waits, and reports the true outcome and its cost", function()
            local function items()
                return document((ctl.succeed("classes 12 --interval 0 --json"))).classes[1].items
            end
            local src, dst = fill.fill(ctl.client, 12), fill.pages_of(ctl.client, 5)
            local before = items()
            local out, err = ctl.succeed("move 12 5 2 --wait --json --trace")
            local result, gone = document(out), before - items()
            assert.same({ "moved", 2, src - 2, dst + 2 }, { result.state, result.pages_moved, result.src_pages_after,
                result.dst_pages_after })
            assert.same({ src - 2, dst + 2 }, { fill.pages_of(ctl.client, 12), fill.pages_of(ctl.client, 5) })
            assert.equal(kind.is_slated and 1 or 2, select(2, err:gsub("> slabs reassign", "")))
            assert.is_true(gone > 0)
            if kind.is_slated then
                assert.equal(gone, result.items_lost)
                assert.truthy(result.words:find(("; %d items? lost"):format(gone)), result.words)
            else -- a memcached does not show this
                assert.truthy(out:find('"items_lost":null', 1, true), out)
                assert.is_nil(result.words:find("lost", 1, true), result.words)
                assert.is_true(result.items_evicted_at_most >= gone, out)
            end
            ctl.succeed("undo")
        end)

        it("shows and sets automove, reads the new mode back, and puts a refusal in a sentence", function()
            for mode, name in pairs({ [2] = "eviction", [1] = "ratio", [0] = "off" }) do
                assert.equal(mode, document((ctl.succeed("automove " .. name .. " --json"))).mode)
                assert.equal(mode, document((ctl.succeed("automove " .. mode .. " --json"))).mode)
                assert.equal(name, document((ctl.succeed("automove --json"))).name)
                assert.truthy(ctl.succeed("help automove"):find(mode .. " or " .. name, 1, true))
            end
            ctl.succeed("automove 0")
            assert.equal(64, (ctl.run("automove 'ratio 0.5'")))
            for _, mode in ipairs({ "sideways", "3" }) do
                local code, out, err = ctl.run("automove " .. mode .. " --trace")
                assert.same({ 3, "" }, { code, out })
                assert.truthy(err:find("> slabs automove " .. mode .. "\n", 1, true), err)
                assert.truthy(err:find("has no automove mode '" .. mode .. "' (", 1, true), err)
                assert.truthy(err:find("off[,|] ?ratio.*eviction.*%); it stays as it was\n"), err)
                assert.equal(kind.is_slated, err:find("utility", 1, true) ~= nil, err)
                assert.equal(0, document((ctl.succeed("automove --json"))).mode)
            end
        end)

        it("prints with --verdict hits before and after a move, also in JSON and in the list of changes", function()
            local code, out = ctl.run("move 12 5 1 --verdict 3s --json", function(seconds)
                local batch = pipeline(ctl.client)
                for _ = 1, 1000 * seconds do batch:get("nothing") end
                batch:run()
            end)
            assert.equal(0, code, out)
            local outcome = document(out).outcome
            assert.same({ 0, 0 }, { outcome.hit_ratio_before, outcome.hit_ratio_after })
            assert.truthy(outcome.words:find("hits 0.0%, as before", 1, true), outcome.words)
            assert.near(0, outcome.predicted_change, 0.001) -- more memory gives no hits for missing keys
            local told, err = ctl.succeed("audit --accuracy")
            assert.truthy(told:find("^moves: 1 prediction; half were off by 0.0 points"))
            assert.equal(not kind.is_slated, err:find("only a slated compares", 1, true) ~= nil, err)
            assert.truthy(ctl.succeed("audit"):find("hits 0.0%, as before", 1, true))
            ctl.succeed("undo") -- its result is no change
            for _, time in ipairs({ "1s", "2m", "soon" }) do
                assert.equal(64, (ctl.run("set slab_automove=1 --verdict " .. time)))
            end
        end)

        once("runs the example of the library's README", function()
            server.write_file(ctl.folder .. "/example.lua", command.read_file("lua/README.md"):match("```lua\n(.-)```"))
            local code, out, err = ctl.shell(("SLATE_SERVER=%s LUA_PATH=%s lua5.4 example.lua"):format(ctl.one.address,
                server.quoted(ctl.root .. "/lua/?.lua;" .. ctl.root .. "/lua/?/init.lua")))
            assert.equal(0, code, err)
            assert.truthy(out:find("12\t%d"), out)
        end)

        it("puts the moves of a policy on record, page by page", function()
            local five = fill.pages_of(ctl.client, 5)
            ctl.succeed(("policy run %s floors=5:%d --apply --once --interval 500ms"):format(FLOOR, five + 1))
            assert.equal(five + 1, fill.pages_of(ctl.client, 5))
            local entry = assert(dkjson.decode((ctl.succeed("audit --json")))).changes[1]
            assert.equal("move", entry.what)
            assert.equal("floor", entry.policy)
            assert.equal(5, entry.dst)
            ctl.succeed("undo")
            assert.equal(five, fill.pages_of(ctl.client, 5))
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
            assert.equal("100", settings().lru_crawler_sleep)
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

        it("plans moves and settings, applies them, and takes the moves back too", function()
            local five, twelve = fill.pages_of(ctl.client, 5), fill.pages_of(ctl.client, 12)
            local _, said = ctl.succeed("plan --move 12:5:2 --set lru_crawler_sleep=150 --interval 50ms -o plan.json")
            assert.truthy(said:find("move 2 pages from class 12 to class 5; fewer than 1000 reads were seen", 1, true),
                said)
            assert.equal(twelve, fill.pages_of(ctl.client, 12))
            assert.truthy(ctl.succeed("apply plan.json --dry-run"):find("nothing was sent", 1, true))
            local done = assert(dkjson.decode((ctl.succeed("apply plan.json --json"))))
            assert.equal(2, #done.steps)
            assert.equal(five + 2, fill.pages_of(ctl.client, 5))
            assert.equal(twelve - 2, fill.pages_of(ctl.client, 12))
            assert.equal("150", settings().lru_crawler_sleep)
            ctl.succeed("undo") -- a plan is one command
            assert.equal(five, fill.pages_of(ctl.client, 5))
            assert.equal("100", settings().lru_crawler_sleep)
            assert.equal(64, (ctl.shell("sed 's|\"server\":\"[^\"]*\"|\"server\":\"other\"|' plan.json >o.json; "
                .. "slatectl apply o.json")))
            for _, text in ipairs({ "", "{}", "[]", '{"schema":"slate/plan/1","steps":[{"kind":"flush"}]}' }) do
                assert.equal(65, (ctl.shell("printf %s " .. server.quoted(text)
                    .. " >bad.json; slatectl apply bad.json")))
            end
            assert.equal(64, (ctl.run("plan")))
        end)

        it("plans to switch automove off before a move, so that nothing moves a page back meanwhile", function()
            local text = ctl.succeed("plan --move 12:5 --set lru_crawler_sleep=150 --set automove=0 --interval 50ms")
            local list = {}
            for i, step in ipairs(assert(dkjson.decode(text)).steps) do
                list[i] = step.name or step.kind
            end
            assert.same({ "automove", "move", "lru_crawler_sleep" }, list)
        end)

        it("tries settings and takes them back at the end, by a guard and by an interrupt", function()
            local out = ctl.succeed("trial lru_crawler_sleep=500 --for 200ms --interval 50ms")
            assert.truthy(out:find("no guard was crossed: the settings are taken back", 1, true), out)
            assert.equal("100", settings().lru_crawler_sleep)
            ctl.succeed("trial lru_crawler_sleep=500 --for 100ms --interval 50ms --keep")
            assert.equal("500", settings().lru_crawler_sleep)
            ctl.succeed("undo")
            assert.equal(64, (ctl.run("trial lru_crawler_sleep=500 --for 0")))
            assert(os.remove(ctl.folder .. "/audit.log"))
            local code, _, err = ctl.run("trial lru_crawler_sleep=500 --for 60s --interval 50ms", function()
                if settings().lru_crawler_sleep == "500" then
                    error("interrupted!")
                end
            end)
            assert.equal(130, code, err)
            assert.equal("100", settings().lru_crawler_sleep)
        end)

        it("leaves a setting at the end of a trial that others changed meanwhile", function()
            local code, out, err = ctl.run("trial lru_crawler_sleep=500 --for 300ms --interval 50ms", function()
                if settings().lru_crawler_sleep == "500" then
                    ctl.client:command("lru_crawler sleep 700")
                end
            end)
            assert.equal(1, code, err)
            assert.truthy(err:find("lru_crawler_sleep is no longer 500 but 700: not taken back", 1, true), err)
            assert.truthy(out:find(": settings that others changed meanwhile are not taken back", 1, true), out)
            assert.equal("700", settings().lru_crawler_sleep)
            ctl.client:command("lru_crawler sleep 100")
        end)

        it("ends with 74 where a change is made, but not on record", function()
            local code, out, err = ctl.shell("SLATE_AUDIT=/dev/null/audit.log slatectl set lru_crawler_sleep=150")
            assert.same({ 74, "lru_crawler_sleep: 100 -> 150\n" }, { code, out })
            assert.matches("the change is made, but not on record: cannot write ", err)
            ctl.succeed("set lru_crawler_sleep=100")
        end)
    end)
end

describe("slatectl changes settings that only slated has", function()
    local ctl = command.beside(setup, teardown, { args = { "-m", "16", "-o", "slab_automove=0" } })
    before_each(function() os.remove(ctl.folder .. "/audit.log") end)

    local function settings() return (assert(require("slate.facts.runtime").read(ctl.client))) end

    it("the policies of classes go back to the letter, also under a policy of the whole", function()
        local before = settings().policy
        ctl.succeed("set 'class_policy=sieve 5'")
        ctl.succeed("set class_policy 'lru 7'")
        local with_classes = settings().policy
        assert.equal(before .. " 5=sieve,7=lru", with_classes)
        ctl.succeed("set policy=fifo")
        assert.equal("fifo", settings().policy)
        ctl.succeed("set policy=s3auto") -- a choice, not a policy: the server shows the chosen policy, too
        assert.equal("s3auto", settings().policy)
        ctl.succeed("undo")
        assert.equal("fifo", settings().policy)
        ctl.succeed("undo")
        assert.equal(with_classes, settings().policy)
        ctl.succeed("undo")
        ctl.succeed("undo")
        assert.equal(before, settings().policy)
    end)

    it("the policy of a class that somebody changed since is left alone", function()
        ctl.succeed("set 'class_policy=sieve 5'")
        assert.equal("OK", ctl.client:command("evict policy lru 5"))
        ctl.refuses(1, "undo", "class_policy is no longer sieve 5 but lru 5")
        ctl.succeed("undo --force")
        assert.is_nil(settings().policy:find(" ", 1, true))
    end)

    it("a policy that is none is refused", function()
        for value, part in pairs({ ["class_policy=sieve"] = "wants a policy and a class",
            ["class_policy=x 5"] = "takes one of",
            ["class_policy=lru 9999"] = "class must be", ["policy=lru 5"] = "wants a name",
            ["policy=lru 5="] = "wants a name", ["policy=lru 5=fifo,"] = "wants a name", ["policy=x"] = "policy" }) do
            ctl.refuses(64, "set '" .. value .. "'", part)
        end
        assert.is_nil(settings().policy:find(" ", 1, true))
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

    it("a limit of memory out of bounds is refused with the bounds, and is a wrong value", function()
        local before = settings().maxbytes
        for _, part in ipairs({ "k, m, g or t, from 8m to ", ', not "1t"' }) do
            ctl.refuses(64, "set maxbytes=1t", part)
            ctl.refuses(64, "trial maxbytes=1t --for 1s", part)
        end
        ctl.refuses(64, "set maxbytes=1", 'whole megabytes, not "1"')
        ctl.succeed("set maxbytes=48M")
        assert.equal(tostring(48 << 20), settings().maxbytes)
        ctl.succeed("undo")
        assert.equal(before, settings().maxbytes)
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
        assert.equal("0", settings().verbosity)
        local _, _, err = ctl.run("undo")
        assert.is_nil(err:find("before it", 1, true), err) -- no other is left
    end)
end)

describe("the changes on record", function()
    local ctl

    setup(function()
        ctl = command.new()
        local file = assert(io.open(ctl.folder .. "/audit.log", "w"))
        local function add(id, ago_s, address, rest)
            file:write(('{"schema":"slate/audit/1","id":%d,"time_s":%d,"server":"%s",%s}\n'):format(id,
                os.time() - ago_s, address, rest))
        end
        add(1, 90000, "127.0.0.1:1", '"what":"set","name":"verbosity","was":"0","is":"1"')
        add(2, 7300, "127.0.0.1:2", '"what":"move","src":3,"dst":4,"pages":2')
        add(3, 60, "127.0.0.1:1", '"what":"move","src":5,"dst":6,"pages":1')
        file:write('{"schema":"slate/audit/1","what":"outcome","of":3,"words":"so it is","predicted_change":0.02,'
            .. '"predicted_least":0.012,"predicted_most":0.05,"hit_ratio_before":0.5,"hit_ratio_after":0.51}\n')
        add(4, 30, "127.0.0.1:1", '"what":"geometry","is":"slabs geometry factor 2","generation":1')
        file:close()
    end)
    teardown(function() ctl.remove() end)

    -- The ids in a command line, in their order, and the line's last word.
    local function listed(arguments)
        local out, ids = ctl.succeed(arguments), {}
        for id in out:gmatch("\n +(%d+)  %d+%-") do
            ids[#ids + 1] = math.tointeger(tonumber(id))
        end
        return ids, out:match("([^\n]*)\n$")
    end

    it("are those of the named servers, with each server's name", function()
        local ids, words = listed("audit")
        assert.same({ 1, 2, 3, 4 }, ids)
        assert.equal("4 of 4 changes, of all servers", words)
        ids, words = listed("-s 127.0.0.1:1 audit --last 2")
        assert.same({ 3, 4 }, ids)
        assert.equal("2 of 3 changes, of 127.0.0.1:1; --all shows 1 of other servers, too", words)
        assert.same({ 2 }, (listed("-s 127.0.0.1:2 audit")))
        assert.same({ 1, 2, 3, 4 }, (listed("-s 127.0.0.1:2,127.0.0.1:1 audit")))
        assert.same({ 1, 2, 3, 4 }, (listed("-s 127.0.0.1:2 audit --all")))
        local _, out = ctl.shell("SLATE_SERVER=127.0.0.1:2 slatectl audit")
        assert.truthy(out:find("1 of 1 change, of 127.0.0.1:2; --all shows 3 of other servers, too", 1, true), out)
        assert.truthy(ctl.succeed("-s 127.0.0.1:3 audit"):find("^no such change is on record\n0 of 0 changes"))
    end)

    it("are chosen by kind and by how long ago they were", function()
        assert.same({ 2, 3 }, (listed("audit --kind move")))
        assert.same({ 4 }, (listed("audit --kind geometry")))
        assert.same({ 3, 4 }, (listed("audit --since 2h")))
        assert.same({ 2 }, (listed("-s 127.0.0.1:2 audit --since 1d --kind move")))
        local found = dkjson.decode((ctl.succeed("audit --kind set --json"))).changes
        assert.same({ 1, 1 }, { #found, found[1].id })
        assert.equal(64, (ctl.run("audit --kind nonsense")))
        assert.equal(64, (ctl.run("audit --since yesterday")))
    end)

    it("show the accuracy of predictions, for the same changes", function()
        local none <const> = "no prediction was compared with what came\n"
        local out, err = ctl.succeed("-s 127.0.0.1:2 audit --accuracy --all")
        assert.truthy(out:find("^moves: 1 prediction; half were off by 1.0 points of hits or less, nine of ten by 1.0; "
            .. "0 of 1 came true between their least and their most, where 19 of 20 are meant to\nmemory: " .. none
            .. "policies: " .. none), out)
        assert.truthy(err:find("memory and policies: 127.0.0.1:2: cannot connect", 1, true), err)
        assert.truthy(ctl.succeed("-s 127.0.0.1:2 audit --accuracy"):find("^moves: " .. none))
        assert.truthy(ctl.succeed("-s 127.0.0.1:2 audit --accuracy --all --kind set"):find("^moves: " .. none))
    end)
end)

describe("a guard", function()
    -- Figures of ten seconds, by which a difference of a few per cent is no chance.
    local function seen(figures)
        local spreads = {}
        for name in pairs(figures) do spreads[name] = 1 end
        figures.for_s, figures.error, figures.spreads = 10, figures.hit_ratio and 0.001, spreads
        return figures
    end

    it("of losses is crossed by automove 2, which drops thousands of items a second, where nobody named one", function()
        local function lost(items_per_s)
            return seen({ evictions_per_s = 40, hit_ratio = 0.7, item_loss_per_s = items_per_s })
        end
        assert.equal("lost items 40 -> 9830/s, over the bound of +50 %",
            bounds.first_guard_crossed(bounds.default_guards(), lost(40), lost(9830)))
        assert.is_nil(bounds.first_guard_crossed(bounds.default_guards(), lost(40), lost(50)))
    end)

    it("of evictions or losses that nobody named waits while hits are up by a point, until the time is over", function()
        local before = seen({ evictions_per_s = 1000, item_loss_per_s = 1000, hit_ratio = 0.66 })
        local by_default, by_terms = bounds.default_guards(), bounds.guards_of_terms(20, 1)
        local named, words = { assert(bounds.parse_guard("ev+50%")) }, "evictions 1000 -> 1800/s, over the bound of "
        for _, case in ipairs({ { by_default, 0.69 }, { by_terms, 0.69 }, { by_terms, 0.665, "+20 %" },
            { by_default, 0.665, "+50 %" }, { by_default, nil, "+50 %" }, { named, 0.69, "+50 %" } }) do
            local now = seen({ evictions_per_s = 1800, item_loss_per_s = 1800, hit_ratio = case[2] })
            assert.equal(case[3] and words .. case[3] or nil, (bounds.first_guard_crossed(case[1], before, now)))
            if not case[3] then
                assert.equal(words .. (case[1] == by_terms and "+20 %" or "+50 %") .. ", which was allowed because "
                    .. "hits rose", bounds.first_guard_spared(case[1], before, now))
            end
        end
    end)

    it("is crossed by a change for the worse alone", function()
        local function crossed(text, before, now)
            return bounds.first_guard_crossed({ assert(bounds.parse_guard(text)) }, before, now) ~= nil
        end
        local calm, busy = seen({ evictions_per_s = 1000, hit_ratio = 0.9 }),
            seen({ evictions_per_s = 1300, hit_ratio = 0.87 })
        assert.is_true(crossed("ev+20%", calm, busy))
        assert.is_false(crossed("ev+50%", calm, busy))
        assert.is_true(crossed("ev+250", calm, busy))
        assert.equal("evictions 1000 -> 34501/s, over the bound of +50 %", bounds.first_guard_crossed(
            { assert(bounds.parse_guard("ev+50%")) }, calm, seen({ evictions_per_s = 34501 })))
        assert.is_false(crossed("ev+20%", busy, calm))
        assert.is_true(crossed("hit-2", calm, busy))
        assert.is_true(crossed("hit-2%", calm, busy))
        assert.is_true(crossed("hit-2%", calm, seen({ hit_ratio = 0 })))
        assert.is_false(crossed("hit-4", calm, busy))
        assert.is_false(crossed("hit-4%", calm, busy))
        assert.is_false(crossed("hit-2", busy, calm))
        assert.is_false(crossed("oom+0", calm, busy)) -- unknown
        for _, text in ipairs({ "ev", "ev-20%", "hit+2", "nonsense+1", "ev+" }) do
            assert.is_nil((bounds.parse_guard(text)))
        end
    end)

    it("is crossed beyond its bound by three standard errors, and what is within them may be chance", function()
        local guards = { assert(bounds.parse_guard("hit-1")), assert(bounds.parse_guard("ev+20%")),
            assert(bounds.parse_guard("oom+0")) }
        local before = seen({ hit_ratio = 0.5, evictions_per_s = 100, out_of_memory_per_s = 0 })
        for _, case in ipairs({ { { hit_ratio = 0.4861 }, "hits 50.0 -> 48.6 %, over the bound of -1 points" },
            { { hit_ratio = 0.4857 }, true }, -- 3 errors of 0.001 and 0.001 are 0.42 points
            { { evictions_per_s = 135 }, "evictions 100 -> 135/s, over the bound of +20 %" },
            { { evictions_per_s = 136 }, true }, -- 3 errors of 1.2 times 1000 and of 1200 are 154
            { { out_of_memory_per_s = 0.1 }, true } }) do
            local now = seen(case[1])
            assert.equal(case[2] == true, bounds.first_guard_crossed(guards, before, now) ~= nil)
            assert.equal(case[2] ~= true and case[2] .. ", which may be chance" or nil,
                case[2] ~= true and bounds.first_guard_spared(guards, before, now) or nil)
        end
        before.spreads.hit_ratio = 9 -- hits of single samples varied three times as much as by chance
        assert.is_nil(bounds.first_guard_crossed(guards, before, seen({ hit_ratio = 0.478 })))
        assert.truthy(bounds.first_guard_crossed(guards, before, seen({ hit_ratio = 0.477 })))
    end)
end)

describe("a trial whose server dies", function()
    it("names the settings that were not restored, and the commands that restore them", function()
        local ctl = command.beside(command.now, finally, { args = { "-m", "8" } })
        local code, _, err = ctl.run("trial lru_crawler_sleep=500 --for 1h", function()
            if server.read_file(ctl.folder .. "/audit.log") then -- the change has been made
                os.execute("kill -9 " .. ctl.one.pid)
            end
        end)
        assert.equal(69, code, err)
        assert.truthy(err:find("lru_crawler_sleep could not be taken back: .*; slatectl undo does it when the server "
            .. "answers again"), err)
    end)
end)

describe("the base of a trial", function()
    it("is as long as the guards' time: ten seconds, or all of a shorter trial", function()
        local function looked_for_s(for_s)
            local seconds
            local context = { open = function() return {}, {} end, pair = function(_, _, interval_s)
                seconds = interval_s
                return nil, "enough is known", "no"
            end }
            local code, message = require("slate.base.failure").caught(require("slate.commands.change.trial").run,
                context, { settings = {}, guard = {}, for_s = for_s })
            assert.same({ nil, "enough is known" }, { code, message })
            return seconds
        end
        assert.equal(10, looked_for_s(nil))
        assert.equal(10, looked_for_s(600))
        assert.equal(2, looked_for_s(2))
    end)
end)
