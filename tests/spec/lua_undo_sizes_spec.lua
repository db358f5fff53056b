-- SPDX-License-Identifier: BSD-3-Clause
-- What a change of chunk sizes takes along, and what an undo after one aims at: a slated in conversation.
local rig = require "support.acting" -- first: its clock
local change = require "slate.console.change"
local prediction = require "slate.judge.prediction"
local settings_shown = require "slate.facts.settings_shown"
local shown = require "slate.act.shown"
local steps = require "slate.act.steps"

local SLATED <const> = rig.SLATED

-- A server whose chunk sizes (by class id) and policies change as slated's do; a console that sees its classes.
local function new_slated(sizes)
    local server = rig.server()
    server.sizes, server.auto, server.generation, server.own = sizes, "yes", 0, {}
    local stock = server.answer
    local function stats(list)
        return table.concat(list, "\r\n") .. "\r\nEND\r\n"
    end
    local answers = {
        ["stats geometry"] = function()
            local list = { "STAT state steady", "STAT why x", "STAT auto " .. server.auto,
                "STAT generation " .. server.generation }
            for _, name in ipairs({ "classes", "classes_retired", "ranges", "ranges_done", "pages_drained",
                "items_copied", "chunks_copied", "items_dropped", "waste_before", "waste_predicted", "waste_now",
                "seconds" }) do
                list[#list + 1] = ("STAT %s 0"):format(name)
            end
            for id, size in pairs(server.sizes) do
                for name, value in pairs({ chunk_size = size, class_state = "active", total_pages = 2 }) do
                    list[#list + 1] = ("STAT %d:%s %s"):format(id, name, value)
                end
            end
            return stats(list)
        end,
        ["stats policies"] = function()
            local list = { "STAT s3fifo:active yes" }
            for id, policy in pairs(server.own) do
                list[#list + 1] = ("STAT class:%d:policy %s"):format(id, policy)
            end
            return stats(list)
        end,
        ["stats config"] = function()
            return stats({ "STAT policy:value s3fifo", "STAT policy:choices s3fifo|slru|sieve",
                "STAT slab_geometry_auto:value " .. server.auto })
        end,
    }
    function server.answer(self, line)
        local policy, id = line:match("^evict policy (%w+) ?(%d*)$")
        local auto = line:match("^config set slab_geometry_auto (%l+)$")
        self.log[#self.log + 1] = (answers[line] or policy or auto or line:find("^slabs geometry")) and line or nil
        if answers[line] then
            return answers[line]()
        elseif policy then
            self.own = id == "" and {} or self.own
            self.own[tonumber(id) or 0] = id ~= "" and policy ~= "s3fifo" and policy or nil
        elseif auto then
            self.auto = auto
        elseif line:find("^slabs geometry") then
            self.generation, self.auto = self.generation + 1, line:find(" auto$") and self.auto or "no"
        end
        return (policy or auto or line:find("^slabs geometry")) and "OK\r\n" or stock(self, line)
    end
    local console = rig.console(server, SLATED)
    function console.see()
        local classes = {}
        for id, size in pairs(server.sizes) do
            classes[#classes + 1] = { id = id, chunk_size = size, total_pages = 2 }
        end
        console.observer.now.classes = classes
        return console
    end
    return server, console.see()
end

local function lines(changes)
    local list = {}
    for _, one in ipairs(changes) do
        for _, sent in ipairs(shown.lines(SLATED, {}, one)) do
            list[#list + 1] = sent.line
        end
    end
    return list
end

describe("a change of chunk sizes", function()
    it("that sets automatic sizes off says so, and its undo brings them back with the sizes", function()
        local server, console = new_slated({ [1] = 96 })
        assert.matches("; automatic sizes are off now$", (console.begin({ { name = "geometry",
            value = "factor 1.08" } })))
        assert.equal("no", server.auto)
        assert.equal("yes", rig.entries(console)[1].auto_was)
        local said, proposed = console.undo()
        assert.matches("revert has begun.*; automatic sizes are on again$", said)
        assert.same({ "slabs geometry revert", "config set slab_geometry_auto yes" }, lines(proposed.changes))
        assert.same({ "yes", "slabs geometry factor 1.08; slabs geometry revert; config set slab_geometry_auto yes" },
            { server.auto, server:sent() })
        assert.equal("nothing to undo", (console.undo()):match("^nothing to undo"))
        assert.truthy(console.acting:propose_redo())
        assert.matches("; automatic sizes are off now$", (console.begin({}, nil, "redo")))
        assert.equal("no", server.auto)
    end)

    it("leaves them off where they were off, and its undo too", function()
        local server, console = new_slated({ [1] = 96 })
        server.auto = "no"
        console.begin({ { name = "geometry", value = "factor 1.08" } })
        local _, proposed = console.undo()
        assert.same({ "slabs geometry revert" }, lines(proposed.changes))
        assert.same({ "no", "slabs geometry factor 1.08; slabs geometry revert" }, { server.auto, server:sent() })
    end)

    it("is taken back with automatic sizes also where the server takes its time for the sizes", function()
        local server, console = new_slated({ [1] = 96 })
        console.begin({ { name = "geometry", value = "factor 1.08" } })
        assert.truthy(console.acting:propose_undo())
        console.acting:begin("undo", {}, SLATED, true, rig.NO_TRIAL)
        local line
        repeat
            line = console.acting:step(true)
            if line and not line:find("revert", 1, true) then
                console.acting:reply(server:answer(line))
            end
        until (line or ""):find("revert", 1, true)
        console.acting:step(true, true) -- it does not answer for a while
        console.acting:reply(server:answer(line))
        assert.matches("; automatic sizes are on again$", console.run())
        assert.equal("yes", server.auto)
    end)

    it("is on record, and has no undo that looks whole, if automatic sizes stay off", function()
        local server, console = new_slated({ [1] = 96 })
        console.begin({ { name = "geometry", value = "factor 1.08" } })
        local answer = server.answer
        function server.answer(self, line)
            return line:find("^config set") and "CLIENT_ERROR not allowed\r\n" or answer(self, line)
        end
        assert.matches("^the chunk sizes change, but automatic sizes stay off: ", (console.undo()))
        assert.equal(1, rig.entries(console)[2].undoes)
    end)

    it("has words on automatic sizes before it is sent", function()
        local one = { now = {} }
        local function also(value, auto, back)
            local found = { "", "" }
            for _, sentence in ipairs(prediction.change(one, { geometry = "STAT auto " .. auto .. "\r\nEND\r\n",
                change = { name = "geometry", value = value, auto = back } })) do
                found[1] = sentence.label == "also" and sentence.text or found[1]
                found[2] = sentence.label == "undo" and sentence.text or found[2]
            end
            return table.unpack(found)
        end
        local words, undo = also("factor 1.08", "yes")
        assert.equal("sets automatic sizes off: the server no longer fits its sizes by itself", words)
        assert.matches("reverts to the sizes before, with automatic sizes on;", undo)
        assert.matches("^sets automatic sizes off", (also("revert", "yes")))
        assert.matches("^sets automatic sizes on again", (also("revert", "no", "yes")))
        for _, order in ipairs({ "auto", "pause" }) do
            assert.equal("", (also(order, "yes")))
        end
        words, undo = also("factor 1.08", "no")
        assert.equal("", words)
        assert.is_nil(undo:find("automatic", 1, true))
    end)

    it("has the setting beside it in Tune", function()
        local replies = { settings = "", config = "STAT slab_geometry_auto:value no\r\nEND\r\n" }
        local names = {}
        for i, row in ipairs(settings_shown.list(SLATED, replies, 0)) do
            names[row.name] = i
            if row.name == "slab_geometry_auto" then
                assert.same({ "automatic sizes", "no", "yes" },
                    { row.label, row.now, settings_shown.step(row, "no", 1) })
                assert.is_nil(row.refusal)
            end
        end
        assert.equal(names.geometry + 1, names.slab_geometry_auto)
        assert.equal("automatic sizes", change.label("slab_geometry_auto"))
        assert.same({ "config set slab_geometry_auto yes" }, lines({ { name = "slab_geometry_auto", value = "yes" } }))
    end)
end)

describe("an undo after the chunk sizes changed", function()
    local POLICY <const> = { { name = "class_policy", value = "slru 34" } }

    it("sets the policy of the class that has the chunks now", function()
        local server, console = new_slated({ [34] = 8960, [35] = 10000 })
        console.begin(POLICY)
        assert.same({ "34=8960", "slru" }, { rig.entries(console)[1].chunk_sizes, server.own[34] })
        server.sizes, server.own = { [34] = 5728, [41] = 8960 }, { [34] = "sieve", [41] = "slru" }
        local said, proposed = console.see().undo()
        assert.same({ "evict policy s3fifo 41" }, lines(proposed.changes))
        assert.matches("; class 34 of then is class 41 now$", proposed.title)
        assert.equal("policy of class 41 slru → s3fifo", said)
        assert.same({ [34] = "sieve" }, server.own)
    end)

    it("says that the class is gone, and sends nothing", function()
        local server, console = new_slated({ [66] = 10920 })
        console.begin({ { name = "class_policy", value = "slru 66" } })
        server.sizes, server.own, server.log = { [1] = 96 }, {}, {}
        local gone <const> = "class 66 had chunks of 10920 B, and no class has such chunks now"
        assert.matches("; class 66 has no pages now: sending it looks for the one of 10920 B$",
            console.see().acting:propose_undo().title)
        assert.same({ gone, "" }, { (console.see().undo()), server:sent() })
        server.sizes = { [66] = 12000 }
        assert.matches("^class 66 had chunks of 10920 B, and no class with pages has", (console.see().undo()))
        server.sizes = { [66] = 10920 }
        assert.truthy(console.see().acting:propose_undo())
        server.sizes = { [66] = 12000 } -- after the proposal
        assert.same({ gone, "" }, { console.begin({}, nil, "undo"), server:sent() })
    end)

    it("sets the policies of all classes that there are still", function()
        local server, console = new_slated({ [5] = 240, [34] = 8960 })
        server.own = { [5] = "sieve", [34] = "slru" }
        console.begin({ { name = "policy", value = "s3fifo" } })
        assert.same({}, server.own)
        server.sizes = { [7] = 240, [34] = 5728 }
        local _, proposed = console.see().undo()
        assert.same({ [7] = "sieve" }, server.own)
        assert.matches("class 5 of then is class 7 now", proposed.title)
        assert.matches("; class 34 of then, of 8960 B, is gone", proposed.title)
    end)

    it("moves pages back between the classes of these sizes only", function()
        local move = { what = "move", src = 4, dst = 12, pages = 2, chunk_sizes = "4=1184 12=8960" }
        local class_ids = require "slate.facts.class_ids"
        local function back(sizes, is_whole)
            local classes = {}
            for id, size in pairs(sizes) do
                classes[#classes + 1] = { id = id, chunk_size = size }
            end
            local entry, words = class_ids.of_now(move, classes, is_whole)
            local step = entry and steps.reverse(entry)
            return step and { step.src, step.dst } or words
        end
        assert.same({ 12, 4 }, back({ [4] = 1184, [12] = 8960 }))
        assert.same({ 12, 4 }, back({ [12] = 8960 })) -- class 4 has no pages now
        assert.equal("class 4 had chunks of 1184 B, and no class has such chunks now", back({ [12] = 8960 }, true))
        assert.same({ 15, 4 }, back({ [4] = 1184, [15] = 8960, [12] = 700 }))
        assert.equal("class 12 had chunks of 8960 B, and no class with pages has such chunks now",
            back({ [4] = 1184, [12] = 700 }))
    end)
end)
