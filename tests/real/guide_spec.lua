-- SPDX-License-Identifier: BSD-3-Clause
-- The guide slate-calcified(7): its commands run and its keys are pressed in their order on a stock memcached and on
-- slated, and its screens equal the programs' output, except figures.
local command = require "support.command"
local patience = require "support.patience"
local server = require "support.server"
local tui = require "tmux"

local PAGE <const> = "man/slate-calcified.7"
-- The page's words and those that run in their place: half the memory, and short waits.
local SMALLER <const> = {
    { "700k", "350k" }, { "%-%-rate 3000", "--rate 2000" }, { "%-%-rate 1000", "--rate 500" },
    { "%-%-interval 1s %-%-for 3m", "--interval 200ms --for 3m" }, { "%-%-for 10m", "--for 300ms --interval 100ms" },
    { "%-%-verdict 10s", "--verdict 3s" },
}

-- A line without its figures: "evicts 1218 items" and "evicts 43 items" are equal, and so are tables of any width.
local function without_figures(line)
    local words = line:gsub("<?%-?%d[%d.:]*[%a%%]*", "N"):gsub("N[%dN:]*", "N")
    return (words:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- Steps of the page: { line, screen = list of lines, may_exit }, or { keys, screen }.
local function steps_of(path)
    local steps, may_exit, is_screen = {}, nil, false
    for line in command.read_file(path):gmatch("[^\n]+") do
        local example = line:match("^%.Dl (.+)$")
        if example then
            steps[#steps + 1] = { line = example, screen = {}, may_exit = may_exit }
            may_exit = nil
        elseif line:find("^%.Bd") then
            is_screen = true
        elseif line:find("^%.Ed") then
            is_screen = false
        elseif is_screen then
            table.insert(steps[#steps].screen, line)
        end
        local keys = line:match('^%.\\" keys: (.+)$')
        steps[#steps + 1] = keys and { line = "keys " .. keys, keys = keys, screen = {} } or nil
        may_exit = tonumber(line:match('^%.\\" may exit (%d+): .')) or may_exit
    end
    return steps
end

describe("the guide to a calcified cache", function()
    local steps, ctl, one, started, slatetop = steps_of(PAGE), nil, nil, {}, nil

    local function stop_loads()
        for i = #started, 1, -1 do
            os.execute(("kill %s 2>/dev/null; while kill -0 %s 2>/dev/null; do sleep 0.05; done"):format(started[i],
                started[i]))
        end
        started = {}
    end

    setup(function() ctl = command.new({ waits = true }) end)
    local function close_screen()
        if slatetop then
            slatetop:close()
        end
        slatetop = nil
    end

    teardown(function()
        close_screen()
        stop_loads()
        if one then
            one:stop()
        end
        ctl.remove()
    end)

    -- Runs a line of the page on our server. Returns its exit code and output.
    local function run(line)
        for _, pair in ipairs(SMALLER) do
            line = line:gsub(pair[1], pair[2])
        end
        local load = line:match("^slate%-load (.+)$")
        if load then
            line = ("%s/build/bin/slate-load --server %s %s"):format(ctl.root, ctl.server, load)
        end
        local background = line:match("^(.*) &$")
        if background then
            local _, pid = ctl.shell(("sh -c 'echo $$; exec \"$@\" >/dev/null 2>&1' sh %s &"):format(
                background:gsub("^slatectl", ctl.root .. "/scripts/slatectl")))
            patience.wait_for("a process in the background", function()
                pid = command.read_file(ctl.folder .. "/.out"):match("%d+")
                return pid
            end)
            started[#started + 1] = pid
            return 0, ""
        end
        return ctl.shell(line)
    end

    local function is_server(line)
        return line:match("^(memcached) ") or line:match("^(slated) ")
    end

    -- The lines of a screen on the page are in the output.
    local function shows(output, screen)
        local lines = {}
        for line in output:gmatch("[^\n]+") do
            lines[without_figures(line)] = true
        end
        for _, line in ipairs(screen) do
            local words = without_figures(line:gsub("\\e", "\\"))
            if not lines[words] and not (words:find("^hits N") and output:find("\nhits %d")) then
                return nil, words
            end
        end
        return true
    end

    -- Presses keys in slatetop, and waits until it shows the screen of the page.
    local function press(step)
        if not slatetop then
            slatetop = tui.open(ctl.folder, ("%s --no-state --audit-log %s/audit.log %s"):format(tui.slatetop,
                ctl.folder, one.address))
            slatetop:wait("starves: it evicts")
        end
        for key in step.keys:gmatch("%S+") do
            slatetop:press(key)
        end
        slatetop:wait_until(function(text)
            text = text:gsub("[^\n]-│([^\n]-)│[^\n]*", "%1"):gsub("▶", "") -- the lines of a box alone
            for _, line in ipairs(step.screen) do
                local outcome = line:match("^moved .*: hits ") and "moved %d+ pages? %d+→%d+: hits %d"
                if not (outcome and text:find(outcome) or not outcome and shows(text, { line })) then
                    return false
                end
            end
            return true
        end)
    end

    local function start(step)
        close_screen()
        stop_loads()
        if one then
            one:stop()
        end
        local name, binary = is_server(step.line), nil
        for _, kind in ipairs(server.all()) do
            binary = binary or kind.is_slated == (name == "slated") and kind.binary
        end
        one = binary and server.start({ binary = binary, args = { "-m", "32", "-o", "slab_automove=0" } })
        ctl.server = one and one.address
    end

    it("has steps and screens to try", function()
        local screens = 0
        for _, step in ipairs(steps) do
            screens = screens + (#step.screen > 0 and 1 or 0)
        end
        assert.is_true(#steps >= 20 and screens >= 6)
        assert.equal("class N starves: it evicts N items a second, which live N, while",
            without_figures("class 14 starves: it evicts 12.5 items a second, which live <1s, while"))
    end)

    local part, lists = nil, {}
    for _, step in ipairs(steps) do
        if is_server(step.line) then
            part = { first = step, rest = {} }
            lists[#lists + 1] = part
        elseif part then
            table.insert(part.rest, step)
        end
    end
    for _, list in ipairs(lists) do
        it("runs as written on " .. is_server(list.first.line), function()
            start(list.first)
            if not one then
                return pending("there is no memcached here")
            end
            for _, step in ipairs(list.rest) do
                local function tried()
                    if step.keys then
                        if tui.has("tmux") then
                            press(step)
                        end
                        return true
                    end
                    local code, out, err = run(step.line)
                    local right, missing = shows(out, step.screen)
                    right = right and (code == 0 or code == step.may_exit)
                    return right, ("%s: %s, want %s\n%s%s"):format(step.line, code, missing, out, err or "")
                end
                local is_look = step.line:find("^slatectl doctor") or step.line:find("^slatectl classes")
                    or step.line:find("^slatectl moves")
                local right, problem = tried()
                if not right and is_look then -- the effect of a load takes time
                    patience.wait_for("what the page shows: " .. problem, function()
                        right, problem = tried()
                        return right
                    end, 120)
                end
                assert.is_true(right, problem)
            end
        end)
    end
end)
