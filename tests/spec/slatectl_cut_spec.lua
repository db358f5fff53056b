-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl on connections that break before the answer to a change comes, after the server made it or before.
local rig = require "support.acting" -- first: its clock
local canned = require "support.canned"
local server = require "support.server"

describe("slatectl, where the connection breaks before the answer", function()
    local folder, fake, cuts, is_gone, one

    -- cuts: by a pattern of a line, whether the server gets the line; each cuts one connection.
    setup(function()
        folder = server.folder()
        one = canned.new({}, setmetatable({}, { __index = function()
            return function(line)
                if line == "version" then
                    return "VERSION 1.6.45"
                end
                return (fake:answer(line):gsub("\r\n$", ""))
            end
        end }))
        one:install()
        local transport = require "slate.wire.transport"
        local connect = transport.connect
        function transport.connect(address)
            if is_gone then
                return nil, "cannot connect", "connect"
            end
            local stream, is_cut = connect(address), false
            local own = getmetatable(stream).__index
            function stream:send(bytes)
                for pattern, is_made in pairs(cuts) do
                    if bytes:find(pattern) then
                        cuts[pattern], is_cut = nil, true
                        is_gone = is_made == "gone"
                        return is_made and own.send(self, bytes) or true
                    end
                end
                return own.send(self, bytes)
            end
            function stream:receive_line(deadline_s)
                if is_cut then
                    return nil, "closed the connection", "closed"
                end
                return own.receive_line(self, deadline_s)
            end
            return stream
        end
    end)
    teardown(function() server.remove_folder(folder) end)
    before_each(function()
        fake, cuts, is_gone = rig.server(), {}, false
        os.remove(folder .. "/audit.log")
    end)

    local function run(line)
        local words = {}
        for word in line:gmatch("%S+") do words[#words + 1] = word end
        return one:slatectl(words, { HOME = folder, SLATE_AUDIT = folder .. "/audit.log",
            SLATE_LOCK_DIR = folder, SLATE_RULES = folder .. "/none.lua", SLATE_SERVER = "127.0.0.1:11211",
            TERM = "dumb", PATH = os.getenv("PATH") })
    end

    it("a setting is read back, on record, and what undo takes back", function()
        for _, line in ipairs({ "set automove=ratio", "automove ratio" }) do
            cuts = { ["^slabs automove 1"] = true }
            local code, out, err = run(line)
            assert.equal(0, code, err)
            assert.truthy(out:find("ratio", 1, true), out)
            assert.truthy(err:find("closed the connection: what came of the last command is read back", 1, true), err)
            assert.truthy(select(2, run("audit")):find("slab_automove: off -> ratio  ", 1, true))
            assert.truthy(select(2, run("undo")):find("slab_automove: ratio -> off", 1, true))
            assert.equal("0", fake.settings.slab_automove)
        end
    end)

    it("a setting that the server never got is not set, and not on record", function()
        cuts = { ["^slabs automove 1"] = false }
        local code, _, err = run("set automove=ratio")
        assert.equal(69, code)
        assert.truthy(err:find("slab_automove is off: not set\n$"), err)
        assert.truthy(select(2, run("audit")):find("no such change is on record", 1, true))
    end)

    it("a move is read back with the pages that moved", function()
        cuts = { ["^slabs reassign 4 12"] = true }
        local code, out, err = run("move 4 12 1")
        assert.equal(0, code, err)
        assert.truthy(out:find("moved 1 of 1 page from class 4 to class 12", 1, true), out)
        assert.equal(0, (run("undo")))
        assert.same({ [4] = 64, [12] = 1 }, fake.pages)
    end)

    it("a trial goes on, and is taken back", function()
        cuts = { ["^slabs automove 1"] = true }
        local code, out, err = run("trial automove=ratio --for 3s")
        assert.equal(0, code, out .. err)
        assert.truthy(out:find("the settings are taken back", 1, true), out)
        assert.equal("slabs automove 1; slabs automove 0", fake:sent():match("slabs.*"))
    end)

    it("a trial that is interrupted before its outcome is known is taken back all the same", function()
        local clock = require "slate.base.clock"
        local pass = clock.sleep
        fake.keeps = true -- the value is shown late
        finally(function() clock.sleep = pass end)
        clock.sleep = function(seconds)
            if fake:sent():find("slabs automove 1", 1, true) and fake.keeps then
                fake.keeps, fake.settings.slab_automove = false, "1"
                error("interrupted!")
            end
            return pass(seconds)
        end
        local code, _, err = run("trial automove=ratio --for 1h")
        assert.equal(130, code, err)
        assert.truthy(err:find("back: slab_automove: ratio -> off", 1, true), err)
        assert.equal("0", fake.settings.slab_automove)
    end)

    it("and the server is gone, the outcome is unknown: no older change is taken back in its place", function()
        for _, is_made in ipairs({ false, "gone" }) do
            os.remove(folder .. "/audit.log")
            fake = rig.server()
            assert.equal(0, (run("set hot_lru_pct=30")))
            cuts = { ["^slabs automove 1"] = "gone" }
            local code, _, err = run("set automove=ratio")
            assert.equal(69, code)
            assert.truthy(err:find("outcome is unknown: .*; it is change 2 on record, and undo reads it back first"),
                err)
            assert.truthy(select(2, run("audit")):find("off %-> ratio: sent, outcome unknown  "))
            is_gone, fake.settings.slab_automove = false, is_made and "1" or "0"
            code, _, err = run("undo")
            assert.equal(is_made and 0 or 1, code, err)
            assert.truthy(is_made or err:find("change 2 was not made: slab_automove is off: not set; to take back the "
                .. "change before it: slatectl undo 1\n", 1, true), err)
            assert.same({ "0", "30" }, { fake.settings.slab_automove, fake.settings.hot_lru_pct })
            assert.equal(0, (run("undo")))
            assert.equal("20", fake.settings.hot_lru_pct)
        end
    end)
end)
