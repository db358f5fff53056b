-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl set, plan, apply and trial.
local audit = require "slate.facts.audit"
local command = require "support.command"
local dkjson = require "dkjson"
local document = require "support.document"
local fill = require "support.fill"
local pipeline = require "support.pipeline"
local server = require "support.server"

local FLOOR <const> = server.quoted(command.root() .. "/tests/fixtures/policies/floor.lua")

for _, kind in ipairs(server.both()) do
    describe("slatectl acts on " .. kind.name, function()
        local ctl = command.beside(setup, teardown, {
            binary = kind.binary, args = { "-m", "12", "-o", "slab_automove=0" }, pages = 3,
        })
        local once = kind.is_slated and it or function() end -- for claims that hold for every server
        before_each(function() os.remove(ctl.folder .. "/audit.log") end)

        it("sends nothing that a server or its version would not take, and ends with 64 for a wrong value", function()
            local before = ctl.settings()
            for arguments, wanted in pairs({ ["set growth_factor=2"] = kind.is_slated and 77 or 3,
                ["set nonsense=1"] = 3, ["set hot_lru_pct=99"] = 64, ["set slab_automove_window=2"] = 64,
                ["set slab_automove_window=99999"] = 64,
                ["set maxbytes=1m"] = 64, ["set slab_automove=7"] = 64, ["--read-only set hot_lru_pct=30"] = 77,
                ["set a"] = 64, ["set policy=nonsense"] = kind.is_slated and 64 or 3,
                ["set automove='ratio 0.7'"] = 64, ["set automove mode ratio 0.7"] = 64,
                ["set slab_automove_ratio=x"] = 64, ["set hot_lru_pct=90 warm_lru_pct=90"] = 64 }) do
                local code, _, err = ctl.run(arguments)
                local unknown = code == 3 and (err:find("has no setting", 1, true) -- an error of that version
                    or err:find(": needs memcached 1%.6%.%d+ or later\n$"))
                assert.truthy(code == wanted or unknown, arguments .. ": " .. code .. " " .. err)
                assert.truthy(err:find("^slatectl: [^\n]+\n$"), err)
            end
            assert.truthy(ctl.succeed("set hot_lru_pct=30 --dry-run"):find("nothing was sent", 1, true))
            for _, named in ipairs({ "automove ratio 0.7", "'automove ratio=0.7'" }) do -- as Tune has it
                assert.matches("would send: slabs automove ratio 0%.7\n", ctl.succeed("set " .. named .. " --dry-run"))
            end
            assert.same(before, ctl.settings())
            assert.same({}, audit.read(ctl.folder .. "/audit.log")) -- what a server refuses is no change
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
            assert.equal("150", ctl.settings().lru_crawler_sleep)
            ctl.succeed("undo") -- a plan is one command
            assert.equal(five, fill.pages_of(ctl.client, 5))
            assert.equal("100", ctl.settings().lru_crawler_sleep)
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
            assert.equal("100", ctl.settings().lru_crawler_sleep)
            ctl.succeed("trial lru_crawler_sleep=500 --for 100ms --interval 50ms --keep")
            assert.equal("500", ctl.settings().lru_crawler_sleep)
            ctl.succeed("undo")
            assert.equal(64, (ctl.run("trial lru_crawler_sleep=500 --for 0")))
            assert(os.remove(ctl.folder .. "/audit.log"))
            local code, _, err = ctl.run("trial lru_crawler_sleep=500 --for 60s --interval 50ms", function()
                if ctl.settings().lru_crawler_sleep == "500" then
                    error("interrupted!")
                end
            end)
            assert.equal(130, code, err)
            assert.equal("100", ctl.settings().lru_crawler_sleep)
        end)

        it("leaves a setting at the end of a trial that others changed meanwhile", function()
            local code, out, err = ctl.run("trial lru_crawler_sleep=500 --for 300ms --interval 50ms", function()
                if ctl.settings().lru_crawler_sleep == "500" then
                    ctl.client:command("lru_crawler sleep 700")
                end
            end)
            assert.equal(1, code, err)
            assert.truthy(err:find("lru_crawler_sleep is no longer 500 but 700: not taken back", 1, true), err)
            assert.truthy(out:find(": settings that others changed meanwhile are not taken back", 1, true), out)
            assert.equal("700", ctl.settings().lru_crawler_sleep)
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

describe("slatectl refuses for slated", function()
    local ctl = command.beside(setup, teardown, { args = { "-m", "16", "-o", "slab_automove=0" } })
    before_each(function() os.remove(ctl.folder .. "/audit.log") end)

    it("a policy that is none is refused", function()
        for value, part in pairs({ ["class_policy=sieve"] = "wants a policy and a class",
            ["class_policy=x 5"] = "takes one of",
            ["class_policy=lru 9999"] = "class must be", ["policy=lru 5"] = "wants a name",
            ["policy=lru 5="] = "wants a name", ["policy=lru 5=fifo,"] = "wants a name", ["policy=x"] = "policy" }) do
            ctl.refuses(64, "set '" .. value .. "'", part)
        end
        assert.is_nil(ctl.settings().policy:find(" ", 1, true))
    end)

    it("a limit of memory out of bounds is refused with the bounds, and is a wrong value", function()
        local before = ctl.settings().maxbytes
        for _, part in ipairs({ "k, m, g or t, from 8m to ", ', not "1t"' }) do
            ctl.refuses(64, "set maxbytes=1t", part)
            ctl.refuses(64, "trial maxbytes=1t --for 1s", part)
        end
        ctl.refuses(64, "set maxbytes=1", 'whole megabytes, not "1"')
        ctl.succeed("set maxbytes=48M")
        assert.equal(tostring(48 << 20), ctl.settings().maxbytes)
        ctl.succeed("undo")
        assert.equal(before, ctl.settings().maxbytes)
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
