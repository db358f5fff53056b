-- SPDX-License-Identifier: BSD-3-Clause
-- Verdicts and trials of slatectl across a restart of the server.
local command = require "support.command"
local lfs = require "lfs"
local restart = require "support.restart"

-- Runs slatectl with these words; act(server) happens after so many seconds. Returns the exit code, the output, the
-- messages, the seconds that passed, and the record of changes.
local function run_with(arguments, act_s, act, words)
    local one = restart.place()
    one:start(words or "")
    local ctl = command.new({ server = one.folder .. "/s" })
    finally(function()
        ctl.remove()
        one:finish()
    end)
    local passed_s, is_done = 0, false
    local code, out, err = ctl.run(arguments, function(seconds)
        passed_s = passed_s + seconds
        if passed_s >= act_s and not is_done then
            is_done = true
            lfs.chdir(ctl.root) -- the command's folder is another
            act(one)
            lfs.chdir(ctl.folder)
        end
    end)
    return code, out, err, passed_s, command.read_file(ctl.folder .. "/audit.log")
end

-- Sets verbosity=1 with a verdict after so many seconds; act(server) happens two seconds after the change.
local function set_with_verdict(for_s, act)
    return run_with(("set verbosity=1 --verdict %ds"):format(for_s), for_s + 2, act)
end

describe("slatectl's verdict", function()
    for words, said in pairs({ [""] = "verbosity is 0", ["-v"] = "verbosity is still 1" }) do
        it("says at once that the server restarted, and that " .. said, function()
            local code, out, err, passed_s = set_with_verdict(20, function(one) one:again("KILL", words):close() end)
            assert.same({ 0, "" }, { code, err })
            assert.equal("the server restarted meanwhile: not judged; " .. said, out:match("[^\n]*\n([^\n]*)\n$"))
            assert.is_true(passed_s < 25, "the rest of the 20 s was not waited for")
        end)
    end

    it("is unknown where no server answers any more", function()
        local code, _, err = set_with_verdict(5, function(one) one:stop("KILL") end)
        assert.equal(0, code)
        assert.matches("the change is made, but its outcome is unknown: ", err)
    end)
end)

describe("slatectl trial across a restart of the server", function()
    -- The words of the server's first and second start, what the record says, and the message.
    for _, case in ipairs({ { "", "", "is 0", "verbosity is 0 since the restart: nothing to take back" },
        { "", "-vv", "is 2", "verbosity is 2 since the restart: nothing to take back" },
        { "", "-v", "is still 1", "verbosity: 1 -> 0" } }) do
        it("judges nothing, and takes back only what still stands: verbosity " .. case[3], function()
            local code, out, err, passed_s, record = run_with("trial verbosity=1 --for 1h", 100, function(one)
                one:again("KILL", case[2]):close()
            end, case[1])
            assert.equal(1, code, err)
            assert.matches("the server restarted, and nothing is judged: its settings are those of its start\n$", out)
            assert.truthy(err:find(case[4] .. "\n", 1, true), err)
            assert.is_true(passed_s < 110, "the rest of the hour was not waited for")
            local entry = require("slate.facts.audit").entries(record)[1]
            assert.same({ "restart", "the server restarted meanwhile: not judged; verbosity " .. case[3] },
                { entry.not_judged, entry.outcome })
        end)
    end

    it("waits for the server as long as the trial lasts", function()
        local code, out, err, passed_s = run_with("trial verbosity=1 --for 1m", 20, function(one) one:stop("KILL") end)
        assert.same({ 69, "" }, { code, out })
        assert.matches("waiting for the server until the time is over", err)
        assert.matches("verbosity could not be taken back: ", err)
        assert.is_true(passed_s >= 70 and passed_s < 80, passed_s)
    end)
end)
