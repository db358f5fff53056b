-- SPDX-License-Identifier: BSD-3-Clause
-- The README's five things to try work as written, on a server started as the README says.
local command = require "support.command"
local fill = require "support.fill"
local patience = require "support.patience"
local server = require "support.server"

-- The lines of the block after a sentence, without their comments after a #, and the comments.
local function block_behind(text, sentence)
    local block = assert(text:match(sentence .. "\n\n```sh\n(.-)```"), sentence)
    local lines, remarks = {}, {}
    for line in block:gmatch("[^\n]+") do
        local words, remark = line:match("^(.-)%s+# (.*)$")
        lines[#lines + 1], remarks[#lines + 1] = words or line, remark
    end
    return lines, remarks
end

describe("the README's five things", function()
    local ctl, one, pids = nil, nil, {}

    setup(function()
        ctl = command.new()
        -- Paths are as they are seen from the folder of the sources.
        os.execute(("ln -s %s/build %s/build"):format(server.quoted(ctl.root), ctl.folder))
        one = server.start({ transport = "tcp", args = { "-m", "64", "-t", "4" } })
        -- Pages to spare, even if a busy machine gets little of the load before a line queries the server.
        local client = one:connect()
        fill.fill(client, 5, 4)
        client:close()
    end)
    teardown(function()
        for _, pid in ipairs(pids) do
            os.execute("kill " .. pid .. " 2>/dev/null")
            patience.wait_for("its end", function() return not server.is_running(pid) end)
        end
        one:stop()
        ctl.remove()
    end)

    -- Runs a line in a shell with the alias; a line in the background can be ended by its pid.
    local function run(alias, line)
        local script = ("shopt -s expand_aliases\nexport SLATE_SERVER=%s\n%s\n%s\n"):format(one.address, alias, line)
        server.write_file(ctl.folder .. "/script", script)
        return ctl.shell("bash script")
    end

    local function start(alias, line)
        local code, out = run(alias, line .. " >background.out 2>background.err & echo $!")
        assert.equal(0, code)
        pids[#pids + 1] = assert(tonumber(out), out)
        return pids[#pids]
    end

    it("work as they are written, in their order", function()
        local lines, remarks = block_behind(command.read_file("README.md"), "Five things to try:")
        local alias = table.remove(lines, 1)
        assert.equal("alias slatectl=build/bin/slatectl", alias)
        assert.equal(5, #lines)
        local background = assert(lines[1]:match("^(slatectl bench .*) &$"))
        start(alias, background)
        for i = 2, 4 do
            local code, out, err = run(alias, lines[i])
            assert.equal(0, code, lines[i] .. ": " .. err)
            assert.truthy(#out > 0, lines[i])
        end
        local record = assert(lines[5]:match("^slatectl record %-o (%S+)"))
        local pid = start(alias, lines[5])
        patience.wait_for("two samples", function()
            return select(2, (server.read_file(ctl.folder .. "/" .. record) or ""):gsub("\n", "")) >= 2
        end, 180)
        os.execute("kill " .. pid)
        local later = assert(remarks[5 + 1]:match("and later: (slatectl chart .*)$"))
        local code, _, err = run(alias, later)
        assert.equal(0, code, later .. ": " .. err)
        assert.truthy((server.read_file(ctl.folder .. "/" .. later:match("%S+$")) or ""):find("^\137PNG"))
    end)
end)
