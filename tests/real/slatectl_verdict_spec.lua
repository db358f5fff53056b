-- SPDX-License-Identifier: BSD-3-Clause
-- A verdict of slatectl across a restart of the server.
local command = require "support.command"
local lfs = require "lfs"
local restart = require "support.restart"

-- Sets verbosity=1 with a verdict after so many seconds; act(server) happens two seconds after the change. Returns the
-- exit code, the output, the messages and the seconds that passed.
local function set_with_verdict(for_s, act)
    local one = restart.place()
    one:start("")
    local ctl = command.new({ server = one.folder .. "/s" })
    finally(function()
        ctl.remove()
        one:finish()
    end)
    local passed_s, is_done = 0, false
    local code, out, err = ctl.run(("set verbosity=1 --verdict %ds"):format(for_s), function(seconds)
        passed_s = passed_s + seconds
        if passed_s >= for_s + 2 and not is_done then
            is_done = true
            lfs.chdir(ctl.root) -- the command's folder is another
            act(one)
            lfs.chdir(ctl.folder)
        end
    end)
    return code, out, err, passed_s
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
