-- SPDX-License-Identifier: BSD-3-Clause
-- Questions of operators, each with the one command that answers it on one screen, and the keys of slatetop that do.
-- The server lacks only pages of one class: filled with small values, it gets requests for larger ones. Questions that
-- need slated are put to a memcached, too. Most commands wait for some seconds of the server's time: those before the
-- move run side by side, and so do those after it. Meanwhile the keys are pressed.
local command = require "support.command"
local patience = require "support.patience"
local recordings = require "support.recordings"
local server = require "support.server"
local tui = require "tmux"

local LINES <const> = 24
local NEEDS_SLATED <const> = 3 -- the status of a command that a memcached cannot answer
local PATIENCE_S <const> = 300
local LOAD <const> = (os.getenv("SLATE_BUILD") or "build") .. "/bin/slate-load"

-- The question; the words of slatectl; a pattern of the answer; the keys of slatetop, from its overview, and a pattern
-- of the screen after them; and slatectl(1)'s words for operators of memcached, where the answer differs.
local QUESTIONS <const> = {
    { "Is anything wrong with this server?", "doctor", "class %d+ starves: it evicts %d+ items a second", "1",
        "BAD +class %d+ starves: it evicts" },
    { "Which class should get memory, and what will it bring?", "advise pages",
        "EXPECTED %(95%%%)\n +%d+ +%d+ +%d+ +starves +[+-]%d+%.%d points of hits %([+-]%d", "m",
        "expects +[+-]%d+%.%d points of hits" },
    { "What would this move do, and what speaks against it?", "move GIVER TAKER PAGES --dry-run",
        "caution: class %d+ is left with one page.*expected %(95%%%): [+-]%d+%.%d points of hits", "m",
        "may lose +%w" },
    { "May I try a change, and have it taken back when it does harm?",
        "trial verbosity=1 --for 1s --guard oom+9", "the settings are taken back", "t" },
    { "What comes of this move, when I make it?", "move GIVER TAKER 1 --verdict 3s", "hits %d+%.%d%%", "m S" },
    { "Did my change help, and what did I change before?", "audit", "class %d+ to class %d+.*hits%s+%d+%.%d%%", "8",
        "class %d+: %d+ → %d+" },
    { "How good have the predictions been?", "audit --accuracy",
        "^moves: [^\n]*1 %a+" }, -- "left out" where hits rose before the move, as on a busy machine
    { "How do I take it back?", "undo --dry-run", "would undo change %d+: move 1 page from class %d+ to class %d+",
        "u", "undoes +move 1 page" },
    { "Is this server short of memory?", "advise memory", "starves: give it pages of other classes", "6",
        "give it pages of other classes before memory" },
    { "What would other amounts of memory hit?", "curve", "HITS, LRU MODEL", "6", "LRU model of the whole cache",
        "needs slated; or chart curve --live" },
    { "How sure is that, and did earlier predictions come true?", "curve",
        "sampled +%d+ reads?.*predictions +%w", nil, nil, "needs slated" },
    { "Which eviction policy would hit more?", "advise policy",
        "starves: give it pages of other classes", "6", "before the policy is judged" },
    { "Who moves pages, and is that right?", "advise automove",
        "utility moves%s+pages to where they bring%s+most hits", "x", "only you move pages" },
    { "Which pages moved last, and why?", "moves --last 15", "FROM +TO +PAGES +WHY", "3", "%d→%d+ +1 page moved",
        "needs slated" },
    { "What happens now, in one look?", "top", "hits %d+%.%d+%%.*starves: items live", "1", "evictions/s +%d" },
    { "Which class evicts most, and how long do its items live?", "classes --sort ev --top 5",
        "starves: items live", "1", "OF EVICTIONS, 10 s +LIFE +STATE" },
    { "What is in class 12?", "keys --class TAKER --top 5", "ITEMS +BYTES +MEAN +UNREAD", "2 Enter",
        "page%w* of %d+ chunks of" },
    { "Where does the memory go?", "waste --top 8", "wasted: %d+%.%d%% of the memory in use", "1",
        "items +%S+ MiB %[.*%] of 24 MiB, slack" },
    { "Which class do values of 1,500 bytes go to, and how does it do?", "fit 1500",
        "VALUE +ITEM +CLASS.*\n +1500 +1%d%d%d +%d+ +%d+ +%d+%.%d%%" },
    { "Would other chunk sizes save memory?", "advise sizes", "best sizes +%d+ +%d+%.%d%%", "5",
        "as the server predicts", "with track_sizes" },
    { "Which keys are hot?", "hotkeys 10", "REQ/S +LEAST +MOST +SHARE.* KEY\n", "9", "SHARE" },
    { "Who asks for that key?", "watch fetchers --count 3 --for 5s", "status=%S+ .*connection=%d+" },
    { "Who is connected?", "conns --top 20", "ID +IDLE +STATE" },
    { "Which server of the fleet is odd?", "fleet", "SERVER.*starv", "7", "pool: worst first" },
    { "Is it a case for an alarm?", "check", "^WARNING %- .*starving=%d" },
    { "What went wrong last night, and when?", "doctor --recording calcified.jsonl",
        "%d+:%d+:%d+ to %d+:%d+:%d+%s+%(.*class 14 starves:%s+it%s+evicts" },
    { "What does this figure mean, and what to do about it?", "explain starving", "what to do:", "?", "what +%u" },
}

describe("a question of an operator", function()
    local page <const> = command.read_file("man/slatectl.1"):match("%.Sh QUESTIONS(.-)%.Sh")
    local one, ctl, pid, words, screen, memcached
    local answers = {} -- by question: the output and messages of its command, and its status on memcached
    local screens = {} -- by question: slatetop's screen

    -- Runs the commands of these questions at the same time, meanwhile a function, and waits for all.
    local function answer(first, last, meanwhile)
        local script = { "rm -f done; {" }
        for i = first, last do
            local line = QUESTIONS[i][2]:gsub("%u%u+", words)
            script[#script + 1] = ("slatectl %s >out.%d 2>err.%d &"):format(line, i, i)
            if memcached and line == QUESTIONS[i][2] then
                script[#script + 1] = ("{ slatectl -s %s %s --timeout 120s >/dev/null 2>&1; echo $? >code.%d; } &")
                    :format(memcached.address, line, i)
            end
        end
        ctl.shell(table.concat(script, "\n") .. "\nwait; touch done; } &")
        meanwhile()
        patience.wait_for("the answers", function() return server.read_file(ctl.folder .. "/done") end,
            PATIENCE_S)
        for i = first, last do
            answers[QUESTIONS[i]] = { out = command.read_file(("%s/out.%d"):format(ctl.folder, i)),
                err = command.read_file(("%s/err.%d"):format(ctl.folder, i)),
                of_memcached = tonumber(server.read_file(("%s/code.%d"):format(ctl.folder, i)) or "") }
        end
    end

    -- Presses the keys of these questions, each from the overview.
    local function press(first, last)
        for i = first, last do
            local case = QUESTIONS[i]
            if screen and case[5] then
                for key in case[4]:gmatch("%S+") do
                    screen:press(key)
                end
                pcall(screen.wait_until, screen, function(text)
                    screens[case] = text
                    return text:find(case[5])
                end)
                screen:press("Escape", "1")
            end
        end
    end

    setup(function()
        one = server.start({ args = { "-m", "24", "-o", "slab_automove=0", "-o", "sample_rate=0.1" } })
        ctl = command.new({ server = one.address, waits = true })
        recordings.copy("calcified", ctl.folder .. "/calcified.jsonl")
        memcached = server.memcached() and server.start({ binary = server.memcached(), args = { "-m", "16" } })
        local load = ("%s --server %s --conns 2 --seed 3 --verify none "):format(LOAD, one.address)
        assert(os.execute(load .. "--insert --requests 0 --sizes u40,200 --keys 200000 --key-prefix old- "
            .. ">/dev/null 2>&1"))
        local pipe = io.popen(load .. "--sizes u1000,1800 --keys 20000 --dist zipf:0.9 --rate 1000 --fill-on-miss "
            .. "--duration 3600 >/dev/null 2>&1 & echo $!")
        pid = pipe:read("l")
        pipe:close()
        local advised
        patience.wait_for("a curve", function() return ctl.run("curve") == 0 end, PATIENCE_S)
        patience.wait_for("a comparison of policies", function() return ctl.run("advise policy") == 0 end,
            PATIENCE_S)
        local is_advised = pcall(patience.wait_for, "a class that starves, with a curve", function()
            advised = ctl.succeed("advise pages --interval 3s")
            return advised:find("EXPECTED (95%)\n", 1, true) and advised:find("PAGE MORE", 1, true)
        end, PATIENCE_S)
        assert.is_true(is_advised, advised)
        local giver, taker = advised:match("EXPECTED %(95%%%)\n +(%d+) +(%d+) ")
        local pages = assert(ctl.succeed("classes --interval 0 " .. giver):match("\n +%d+ +%S+ +(%d+) "))
        words = { GIVER = giver, TAKER = taker, PAGES = ("%d"):format(pages - 1) }
        if tui.has("tmux") then
            screen = tui.open(ctl.folder, ("%s --no-state --audit-log %s/audit.log %s"):format(tui.slatetop, ctl.folder,
                one.address))
        end
        local move = 0
        for i, case in ipairs(QUESTIONS) do
            move = case[2]:find("--verdict", 1, true) and i or move
        end
        local function before() press(1, move - 1) end
        answer(1, move - 1, before)
        answer(move, move, function() end)
        answer(move + 1, #QUESTIONS, function() press(move + 1, #QUESTIONS) end)
    end)
    teardown(function()
        os.execute("kill " .. pid)
        if screen then screen:close() end
        ctl.remove()
        one:stop()
        if memcached then memcached:stop() end
    end)

    it("stands in slatectl(1), with its command, its keys, and the needs of a memcached", function()
        for _, case in ipairs(QUESTIONS) do
            local told = page:match("%.It " .. case[1]:gsub("%p", "%%%0") .. "\n%.Ql (.-)\n%.[IE][tl]")
            assert.truthy(told, case[1])
            assert.equal(case[2]:match("^%l+"), told:match("^%l+"), case[1])
            assert.equal(case[4], told:match("keys: ([^;\n]+)"), case[1])
            assert.equal(case[6], told:match("on memcached: ([^\n]+)"), case[1])
        end
    end)

    it("stands with the same command and keys in slatectl(1) and in README.md", function()
        local readme <const> = command.read_file("README.md")
        for question, keys, told in readme:gmatch("\n| (%u[^|]*%?) | `([^|]*)` | `([^|]*)` |") do
            local entry = (".It %s\n.Ql %s\n.br\nkeys: %s\n"):format(question, told, keys)
            assert.truthy(page:find(entry, 1, true), question)
        end
    end)

    for _, case in ipairs(QUESTIONS) do
        it(("is answered by one command, and by keys: %s"):format(case[1]), function()
            local said = answers[case]
            assert.truthy(said.out:find(case[3]), said.out .. said.err)
            assert.is_true(select(2, said.out:gsub("\n", "")) <= LINES, said.out)
            if screens[case] then
                assert.truthy(screens[case]:find(case[5]), ("%s: %s"):format(case[4], screens[case]))
            end
            if said.of_memcached then
                assert.equal(case[6] ~= nil, said.of_memcached == NEEDS_SLATED, tostring(said.of_memcached))
            end
        end)
    end
end)
