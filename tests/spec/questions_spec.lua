-- SPDX-License-Identifier: BSD-3-Clause
-- Questions of operators, each with the one command that answers it on one screen; the server is one that is short of
-- nothing but pages where they are needed: filled with small values, then asked for larger ones.
-- Most commands wait for some seconds of the server's time: those before the move run side by side, and so do those
-- behind it.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local patience = require "support.patience"
local recordings = require "support.recordings"
local server = require "support.server"

local LINES <const> = 24
local ADVICE_S <const> = 120 -- on a full machine a minute was too short once
local LOAD <const> = (os.getenv("SLATE_BUILD") or "build") .. "/bin/slate-load"

-- The question; the words of slatectl; a pattern of the answer.
local QUESTIONS <const> = {
    { "Is anything wrong with this server?", "doctor", "class %d+ starves: it evicts %d+ items a second" },
    { "Which class should get memory, and what will it bring?", "advise pages",
        "%d+ pages? from there.*[+-]%d+%.%d points of hits%s+%([+-]%d" },
    { "What would this move do, and what speaks against it?", "move GIVER TAKER PAGES --dry-run",
        "caution: class %d+ is left with one page.*expected: [+-]%d+%.%d points of hits" },
    { "What comes of this move, when I make it?", "move GIVER TAKER 1 --verdict 3s", "hits %d+%.%d%%" },
    { "Did my change help, and what did I change before?", "audit", "class %d+ to class %d+.*hits%s+%d+%.%d%%" },
    { "How good have the predictions been?", "audit --accuracy", "1 prediction; half were off by %d+%.%d points" },
    { "How do I take it back?", "undo --dry-run", "would undo change 1: move 1 page from class %d+ to class %d+" },
    { "Is this server short of memory?", "advise memory", "starves: give it pages of other classes" },
    { "What would other amounts of memory hit?", "curve", "HITS, LRU MODEL" },
    { "How sure is that, and did earlier forecasts come true?", "forecast",
        "sample +%d+ keys?, .*forecasts +%w" },
    { "Which eviction policy would hit more?", "advise policy",
        "starves: give it pages of other classes" },
    { "Who moves pages, and is that right?", "advise automove",
        "utility moves%s+pages to where they bring%s+most hits" },
    { "Which pages moved last, and why?", "moves", "FROM +TO +PAGES +WHY" },
    { "What happens now, in one look?", "top", "hits %d+%.%d+%%.*starves: items live" },
    { "Which class evicts most, and how long do its items live?", "classes --sort ev --top 5",
        "starves: items live" },
    { "Where does the memory go?", "waste", "wasted: %d+%.%d%% of the memory in use" },
    { "Which class do values of 1,500 bytes go to, and how does it do?", "fit 1500",
        "VALUE +ITEM +CLASS.*\n +1500 +1%d%d%d +%d+ +%d+ +%d+%.%d%%" },
    { "Would other chunk sizes save memory?", "advise sizes", "best sizes +%d+ +%d+%.%d%%" },
    { "Which keys are hot?", "hotkeys 10", "AT LEAST +AT MOST +SHARE +KEY" },
    { "Who is connected?", "conns", "ID +IDLE +STATE" },
    { "Is it a case for an alarm?", "check", "^WARNING %- .*starving=%d" },
    { "What went wrong last night?", "doctor --recording calcified.jsonl", "class 14 starves: it evicts" },
    { "What does this figure mean, and what to do about it?", "explain starving", "what to do:" },
}

describe("a question of an operator", function()
    local one, ctl, pid, words
    local answers = {} -- by question: what its command wrote to its output and to its messages

    -- Runs the commands of these questions at the same time, and waits for all.
    local function answer(first, last)
        local script = {}
        for i = first, last do
            script[#script + 1] = ("slatectl %s >out.%d 2>err.%d &"):format(QUESTIONS[i][2]:gsub("%u%u+", words), i, i)
        end
        ctl.shell(table.concat(script, "\n") .. "\nwait")
        for i = first, last do
            answers[QUESTIONS[i]] = { out = command.read_file(("%s/out.%d"):format(ctl.folder, i)),
                err = command.read_file(("%s/err.%d"):format(ctl.folder, i)) }
        end
    end

    setup(function()
        one = server.start({ args = { "-m", "24", "-o", "slab_automove=0", "-o", "sample_rate=0.1" } })
        ctl = command.new({ server = one.address })
        recordings.copy("calcified", ctl.folder .. "/calcified.jsonl")
        local load = ("%s --server %s --conns 2 --seed 3 --verify none "):format(LOAD, one.address)
        assert(os.execute(load .. "--insert --requests 0 --sizes u40,200 --keys 200000 --key-prefix old- "
            .. ">/dev/null 2>&1"))
        local pipe = io.popen(load .. "--sizes u1000,1800 --keys 20000 --dist zipf:0.9 --rate 4000 --fill-on-miss "
            .. "--duration 300 >/dev/null 2>&1 & echo $!")
        pid = pipe:read("l")
        pipe:close()
        local advised
        patience.wait_for("a curve", function() return ctl.run("curve") == 0 end)
        patience.wait_for("a comparison of policies", function() return ctl.run("advise policy") == 0 end)
        local is_advised = pcall(patience.wait_for, "a class that starves, with a curve", function()
            advised = ctl.succeed("advise pages --interval 3s")
            return advised:find("slatectl move", 1, true) and advised:find("PAGE MORE", 1, true)
        end, ADVICE_S)
        assert.is_true(is_advised, advised)
        local giver, taker = advised:match("slatectl move (%d+) (%d+)")
        local pages = assert(ctl.succeed("classes --interval 0 " .. giver):match("\n +%d+ +%S+ +(%d+) "))
        words = { GIVER = giver, TAKER = taker, PAGES = ("%d"):format(pages - 1) }
        local move = 0
        for i, case in ipairs(QUESTIONS) do
            move = case[2]:find("--verdict", 1, true) and i or move
        end
        answer(1, move - 1)
        answer(move, move)
        answer(move + 1, #QUESTIONS)
    end)
    teardown(function()
        os.execute("kill " .. pid)
        ctl.remove()
        one:stop()
    end)

    it("stands in the README, with its command", function()
        local readme = command.read_file("README.md")
        for _, case in ipairs(QUESTIONS) do
            local told = readme:match("\n| " .. case[1]:gsub("%p", "%%%0") .. " | `([^`]*)` |\n")
            assert.truthy(told, case[1])
            assert.equal(case[2]:match("^%l+"), told:match("^%l+"), case[1])
        end
    end)

    for _, case in ipairs(QUESTIONS) do
        it(("is answered by one command: %s"):format(case[1]), function()
            local said = answers[case]
            assert.truthy(said.out:find(case[3]), said.out .. said.err)
            assert.is_true(select(2, said.out:gsub("\n", "")) <= LINES, said.out)
        end)
    end
end)
