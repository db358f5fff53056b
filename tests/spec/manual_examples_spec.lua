-- SPDX-License-Identifier: BSD-3-Clause
-- The examples of the manual pages of programs run. Those of slatectl(1) and slate-fleets(7) have specs of their own.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local command = require "support.command"
local server = require "support.server"

-- What an example says and what is run in its place, so that it ends soon and touches nothing but our folder.
local SMALLER <const> = {
    { "%-%-insert %-%-keys 1m", "--insert --keys 1k" }, { "%-%-requests 5m", "--requests 5k" },
    { "%-%-rate 20k %-%-duration 30s %-%-interval 1s", "--rate 1k --duration 200ms --interval 100ms --keys 1000" },
    { "%-%-shift%-every 1000000 %-%-keys 500k", "--shift-every 1000 --keys 500 --requests 3000" },
    { "trace%.txt%.gz", "trace.gz" }, { "/run/cache/", "./" }, { "%-m 1024", "-m 16" }, { "%-n 36000", "-n 1" },
    { "64m,128m,256m", "4m,8m" }, { "cache7:11211", "127.0.0.1:11211" }, { "cache7 ", "127.0.0.1:11211 " },
    { "%-%-at 25200", "--at 0 -b -n 1" },
}

-- Examples that are not run, and why.
local NOT_RUN <const> = {
    ["slatetop"] = "it wants a terminal: the console's specs have one",
    ["slatetop --read-only cache7:11211"] = "it wants a terminal: the console's specs have one",
    ["slatetop dns:caches.example.org:11211"] = "it wants a name server that knows this name",
}

-- The command lines of the EXAMPLES of a page, continued lines joined.
local function examples_of(path)
    local section = command.read_file(path):match("\n%.Sh EXAMPLES\n(.-)\n%.Sh ")
    local list, is_literal = {}, false
    for line in section:gsub("\\e\n%s*", ""):gmatch("[^\n]+") do
        if line:find("^%.Bd %-literal") then
            is_literal = true
        elseif line:find("^%.Ed") then
            is_literal = false
        elseif is_literal or line:find("^%.Dl ") then
            list[#list + 1] = line:gsub("^%.Dl ", ""):gsub("^%$ ", ""):gsub("\\&", "")
        end
    end
    return list
end

describe("the manual's examples run:", function()
    local one, ctl

    setup(function()
        one = server.start({ binary = server.slated(), transport = "tcp", args = { "-m", "16" } })
        ctl = command.new({ server = one.address })
        ctl.shell("seq 2000 | gzip >trace.gz; seq 2000 | sed 's/.*/get key&/' | gzip >replay.gz")
    end)
    teardown(function()
        ctl.remove()
        one:stop()
    end)

    -- A server of an example runs until it is ended; that it starts is what the example promises.
    local function run(example)
        local line = example
        for _, pair in ipairs(SMALLER) do
            line = line:gsub(pair[1], (pair[2]:gsub("%%", "%%%%")))
        end
        line = line:gsub("127%.0%.0%.1:11211", one.address)
        if line:find("slate%-load") then
            line = line .. " --server " .. one.address
        elseif line:find("^slatetop") and not line:find(one.address, 1, true)
            and not line:find("--replay", 1, true) then
            line = line .. " " .. one.address
        end
        local path = "PATH=" .. ctl.root .. "/build/bin:$PATH\n"
        if line:find("slated ", 1, true) and not line:find("--simulate", 1, true) then
            return ctl.shell(path .. line .. " -u \"$(id -un)\" -P ./pid & pid=$!; "
                .. "until [ -s pid ] || ! kill -0 $pid; do sleep 0.02; done; "
                .. "kill $pid; wait $pid; code=$?; rm -f pid; exit $code")
        end
        return ctl.shell(path .. line)
    end

    for page, least in pairs({ ["man/slate-load.1"] = 4, ["man/slated.8"] = 4, ["man/slatetop.1"] = 6 }) do
        it("those of " .. page, function()
            local list = examples_of(page)
            assert.is_true(#list >= least)
            for _, example in ipairs(list) do
                if not NOT_RUN[example] then
                    local code, out, err = run(example)
                    assert.equal(0, code, example .. ": " .. err .. out)
                end
            end
        end)
    end
end)
