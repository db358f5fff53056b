-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl policy list|show|test|simulate|run: policies in Lua, see slate-policies(7).
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local policy = require "slate.policy.file"
local units = require "slate.base.units"

local M = {}

local LEAST_INTERVAL_S <const> = 0.01
local TRACE_MEMORY <const> = "64m" -- slated's default
local PAGES_PER_MINUTE <const> = 60 -- memcached's own rate, but the pages may move at once

function M.declare(command)
    command:argument("action", "list the policies that come with slatectl; show, test, simulate or run one.")
        :choices({ "list", "show", "test", "simulate", "run" }):argname("list|show|test|simulate|run")
    command:argument("policy", "A name, or a file that ends in .lua."):args("?"):argname("POLICY")
    command:argument("setting", "Settings of the policy: name=value."):args("*"):argname("SETTING")
    command:option("--recording", "With run: decide over a recording, and move nothing."):argname("FILE")
    command:option("--trace", "With simulate: play a trace of requests; see 'slatectl help simulate'."):argname("FILE")
    command:option("--memory", "With --trace: memory limits, separated by commas. Default: " .. TRACE_MEMORY)
        :argname("SIZES")
    command:option("--rate", "With --trace: requests a second of the policies' clock. Default: as the trace has them, "
        .. "10000 if it has no times"):argname("N")
        :convert(units.whole(1, 1e9))
    require("slate.commands.predict.simulate").declare_trace(command)
    command:option("--processes", "With --trace: at most N processes at once. Default: one a core"):argname("N")
        :convert(units.whole(1, 256))
    command:option("--with", "With --trace: further options of slated: --with='-f 1.5'."):argname("OPTIONS")
    command:option("--interval", "With run: time between two samples. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--window", "With run: the same as the setting window_s."):argname("TIME")
        :convert(units.parse_duration)
    command:option("--for", "With run: stop after this long."):argname("TIME"):convert(units.parse_duration)
    command:option("--max-moves", "With run: stop after this many pages."):argname("N"):convert(units.whole(1))
    command:flag("--once", "With run: stop after one decision; if the policy has a setting in samples, after so many "
        .. "decisions, or the first with a move.")
    command:option("--per-minute", ("With run: at most this many pages in any minute. Default: %d"):format(
        PAGES_PER_MINUTE)):argname("N"):convert(units.whole(1))
    command:flag("--apply", "With run: move pages. Without it the policy decides and explains, and nothing is sent.")
end

local function list(context)
    local folder = policy.folder()
    local policies = require("slate.base.json").array()
    for _, name in ipairs(policy.names()) do
        local one, problem = policy.open(folder .. "/" .. name .. ".lua")
        policies[#policies + 1] = { name = name, summary = one and one.summary, broken = not one and problem or nil }
    end
    return context:answer("slate/policies/1", { folder = folder, policies = policies }, function()
        local rows = gather.values(policies, function(one) return { one.name, one.summary or one.broken or "-" } end)
        context:out(#rows > 0 and context:pairs(rows, true) or ("no policies in %s\n"):format(folder))
    end)
end

local function show(context, one)
    local settings = one:setting_list()
    if context.json then
        context:out_json("slate/policy/1", {
            name = one.name, summary = one.summary, path = one.path,
            settings = require("slate.base.json").array(settings),
            source = one.text,
        })
        return 0
    end
    context:out(one.name, ": ", one.summary or "it has no summary", "\n", one.path, "\n")
    local rows = gather.values(settings, function(row)
        return { row.name, row.default, row.min, row.max, row.unit, row.help }
    end)
    if #rows > 0 then
        context:out("\n", context:table("SETTING<|DEFAULT|LEAST|MOST|UNIT<|MEANING<", rows))
    end
    context:out("\n", require("slate.base.table").for_terminal(one.text))
    return 0
end

local function out_checks(context, report)
    local failed = 0
    for _, remark in ipairs(report.remarks) do
        context:out("remark: ", remark, "\n")
    end
    for _, one in ipairs(report.checks) do
        if one.problem then
            failed = failed + 1
            context:out("failed: ", one.name, ": ", one.problem, "\n")
        end
    end
    return failed
end

local function test(context, one, words)
    local settled, wrong = one:start(words)
    if not settled then -- an error in the words, not in the policy
        return nil, ("policy %s: %s"):format(one.name, wrong), "usage"
    end
    local report, problem = require("slate.policy.test").test(one, words)
    if not report then
        return nil, ("policy %s is broken %s"):format(one.name, problem), "no"
    end
    local json = require "slate.base.json"
    if context.json then
        context:out_json("slate/policy-test/1", {
            name = one.name, servers = report.servers, decisions = report.decisions, moves = report.moves,
            remarks = json.array(report.remarks), checks = json.array(report.checks),
        })
    end
    local failed = out_checks(context.json and { out = function() end } or context, report)
    if failed > 0 then
        return nil, ("policy %s fails %s of %d"):format(one.name, units.plural(failed, "check"), #report.checks), "no"
    elseif not context.json then
        context:out(("policy %s is fine: %s passed; it made %s and %s on %s\n"):format(one.name,
            units.plural(#report.checks, "check"), units.plural(report.decisions, "decision"),
            units.plural(report.moves, "move"), units.plural(report.servers, "made-up server")))
    end
    return 0
end

-- Prints decisions: every one as JSON; for people, those with something new.
local function printer(context, name, clock_of)
    local last
    return function(decision)
        if context.json then
            local json = require "slate.base.json"
            context:out_json("slate/policy-decision/1", {
                policy = name, time_s = decision.time_s, moves = json.array(decision.moves), why = decision.why,
            })
            return
        end
        local at = clock_of(decision.time_s)
        for _, one in ipairs(decision.moves) do
            context:out(("%s  %s from %s to %s: %s\n"):format(at, units.plural(one.pages, "page"),
                units.place(one.from), units.place(one.to), one.reason))
            if one.outcome then
                context:out((" "):rep(#at), "  ", one.state, ": ", one.outcome, "\n")
            end
        end
        local why = #decision.moves == 0 and (decision.why or "it gave no reason") or nil
        if why and why ~= last then
            context:out(("%s  nothing moves: %s\n"):format(at, why))
        end
        last = why
        context:flush()
    end
end

local function replay(context, one, running, path)
    local snapshots = must(context:recordings({ path }))
    local start_s = snapshots[1].time_s
    local each = printer(context, one.name, function(time_s)
        return ("%+9.1f s"):format(time_s - start_s)
    end)
    local tally, problem = require("slate.act.policy_run").replay(snapshots, running, each)
    if not tally then
        return nil, ("policy %s: %s"):format(one.name, problem), "no"
    end
    context:print_note(("%s would have moved %s in %s over %s"):format(one.name, units.plural(tally.pages, "page"),
        units.plural(tally.decisions, "decision"), units.plural(tally.snapshots, "snapshot")))
    return 0
end

-- The number of decisions in which a policy moves nothing, because it needs this number of samples first.
local function samples_wanted(one, running)
    local most = 1
    for _, row in ipairs(one:setting_list()) do
        most = row.unit == "samples" and math.max(most, running.settings[row.name]) or most
    end
    return most
end

-- Makes rounds until --for or --once ends them, or the runner is done. once: the decisions after which --once ends;
-- nil: without --once. true, or nil, message, code.
local function run_rounds(runner, parsed, once, each)
    local clock = require "slate.base.clock"
    local interval_s = math.max(parsed.interval or 1, LEAST_INTERVAL_S)
    local start_s, n = clock.steady_s(), 0
    while true do
        local decision, message, code = runner:round()
        if decision then
            each(decision)
            if once and (#decision.moves > 0 or runner.decisions >= once) or runner:is_done() then
                return true
            end
        elseif decision == nil then
            return nil, message, code
        end
        n = n + 1
        if parsed["for"] and n * interval_s > parsed["for"] + 1e-6 then
            return true
        end
        clock.sleep(math.max(0, start_s + n * interval_s - clock.steady_s()))
    end
end

-- Makes rounds on a live server; with --apply, after a takeover of its page moves. An exit code, or nil, message, code.
local function live_on(context, client, who, one, running, parsed)
    context.command = { is_run = true } -- each page is a change of its own; undo --run takes all back
    local runner = require("slate.act.policy_run").new(client, running, {
        server = context.server.name, slated = who.slated, dry_run = not parsed.apply, max_pages = parsed.max_moves,
        pages_per_minute = parsed.per_minute or PAGES_PER_MINUTE,
        move = function(plan, how)
            return require("slate.act.steps").move(context, client, plan, how, { policy = one.name })
        end,
    })
    local function summary()
        return ("%s made %s and %s %s%s"):format(one.name, units.plural(runner.decisions, "decision"),
            parsed.apply and "moved" or "would have moved",
            units.plural(parsed.apply and runner.pages_moved or runner.pages_wanted, "page"),
            parsed.apply and "" or "; with --apply it moves them")
    end
    context.summary = summary
    local each = printer(context, one.name, function(time_s) return os.date("%H:%M:%S", time_s // 1) end)
    local ok, problem, why = run_rounds(runner, parsed, parsed.once and samples_wanted(one, running), each)
    if not ok then
        local broken = why == "policy"
        return nil, broken and ("policy %s: %s"):format(one.name, problem) or problem, broken and "no" or why
    end
    context:print_note(summary())
    return 0
end

local function live(context, one, running, parsed)
    local client, who = must(context:open())
    must(require("slate.facts.store").needs_slab(who, "pages that move"))
    if not parsed.apply then
        return live_on(context, client, who, one, running, parsed)
    end
    local taken = must(require("slate.fleet.takeover").begin(context))
    if taken.mode then
        context:print_note(("automove was %s; it is off while the policy runs"):format(
            require("slate.facts.automove").name_of(taken.mode)))
    end
    local outcome = table.pack(pcall(live_on, context, client, who, one, running, parsed))
    local given_back = taken:give_back()
    if not outcome[1] then -- Ctrl-C, or a closed output
        error(outcome[2], 0)
    elseif outcome[2] and not given_back then
        return nil, "automove could not be given back", "server"
    end
    return table.unpack(outcome, 2, outcome.n)
end

local function run(context, one, words, parsed)
    if parsed.window then
        words[#words + 1] = ("window_s=%g"):format(parsed.window)
    end
    local running, problem = one:start(words)
    if not running then
        return nil, ("policy %s: %s"):format(one.name, problem), "usage"
    elseif parsed.recording then
        return replay(context, one, running, parsed.recording)
    elseif parsed.apply and require("slate.fleet.takeover").is_guard() then
        return require("slate.fleet.takeover").guard(context)
    end
    return live(context, one, running, parsed)
end

-- The policies that words name, each followed by its settings; all policies of the folder if there are no words.
-- Returns a list of { name, words }.
local function named(words)
    local chosen = {}
    for _, word in ipairs(words) do
        if word:find("=", 1, true) and #chosen > 0 then
            table.insert(chosen[#chosen].words, word)
        else
            chosen[#chosen + 1] = { name = word, words = {} }
        end
    end
    if #chosen == 0 then
        for i, name in ipairs(policy.names()) do
            chosen[i] = { name = name, words = {} }
        end
    end
    return chosen
end

local function out_simulation(context, rows)
    local cells = gather.values(rows, function(row)
        return { row.name, units.bytes_in_words(row.memory_bytes), units.bytes_in_words(row.held_bytes), row.pages,
            units.count(row.lost), units.percent(row.hit_ratio, 2), units.count(row.evicted) }
    end)
    context:out_table("POLICY<|MEMORY|HELD|PAGES|LOST|HITS|EVICTED", cells)
    context:out(("each row: %s; LOST: live items that page moves cost, counted in EVICTED, too\n"):format(
        units.plural(rows[1].requests, "request")))
end

local function simulate(context, parsed)
    if not parsed.trace or parsed.recording then
        return nil, "policy simulate wants --trace FILE of requests, which 'slatectl capture -o day.trace.gz' makes; a "
            .. "recording is for 'slatectl policy run NAME --recording FILE'", "usage"
    elseif parsed.trace == "-" then
        return nil, "the trace is played several times, so it must be a file", "usage"
    end
    local words = require("slate.commands.predict.simulate").trace_words(parsed)
    words[#words + 1] = parsed.rate and "--rate=" .. parsed.rate or nil
    for word in (parsed.with or ""):gmatch("%S+") do
        words[#words + 1] = word
    end
    local grid = { program = context.bin_dir .. "/slated", trace = parsed.trace, sizes = parsed.memory or TRACE_MEMORY,
        words = words }
    local chosen = named(table.move(parsed.setting, 1, #parsed.setting, 2, { parsed.policy }))
    local rows, remark, code = require("slate.policy.compare").over_trace(grid, chosen,
        parsed.processes or require("slate.policy.simulate").cores())
    if not rows then
        return nil, remark, code
    elseif remark then
        context:print_note(remark)
    end
    return context:answer("slate/policy-simulation/1", { trace = parsed.trace, rows = rows },
        function() out_simulation(context, rows) end)
end

function M.run(context, parsed)
    if parsed.action == "list" then
        return list(context)
    elseif parsed.action == "simulate" then
        return simulate(context, parsed)
    elseif not parsed.policy then
        return nil, ("policy %s needs the name of a policy, or a file; see 'slatectl policy list'")
            :format(parsed.action), "usage"
    end
    local one = must(policy.open(parsed.policy, {
        log = function(text) io.stderr:write("policy: ", text, "\n") end,
    }))
    if parsed.action == "show" then
        return show(context, one)
    elseif parsed.action == "test" then
        return test(context, one, parsed.setting)
    end
    return run(context, one, parsed.setting, parsed)
end

return M
