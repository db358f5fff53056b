-- SPDX-License-Identifier: BSD-3-Clause
-- The library as a whole: documented, and installable as a rock.
local command = require "support.command"
local server = require "support.server"

local function modules()
    local pipe = assert(io.popen("ls lua/slate/init.lua lua/slate/*/*.lua | grep -v /policies/"))
    local list = {}
    for path in pipe:lines() do list[#list + 1] = path end
    pipe:close()
    return list
end

local function has(program) return os.execute("command -v " .. program .. " >/dev/null 2>&1") == true end

describe("the Lua library", function()
    it("documents every module and every exported function", function()
        local lacking, documented = {}, 0
        for _, path in ipairs(modules()) do
            local in_doc, header = false, false
            for line in io.lines(path) do
                if line:find("^%-%-%-") then
                    in_doc, header = true, true
                elseif not line:find("^%-%-") then
                    if line:find("^function M%.") and not in_doc then
                        lacking[#lacking + 1] = path .. ": " .. line
                    elseif line:find("^function M%.") then
                        documented = documented + 1
                    elseif line:find("^local M = ") and not header then
                        lacking[#lacking + 1] = path .. ": the module"
                    end
                    in_doc = false
                end
            end
        end
        assert.same({}, lacking)
        assert.truthy(documented > 100, documented)
    end)

    it("has public modules by name, and says how a call is meant where the arguments are others", function()
        local slate = require "slate"
        local page = command.read_file("man/slate.3")
        for name in page:gmatch("%.It Va slate%.(%l+)\n") do assert.is_table(slate[name], name) end
        for _, case in ipairs({ { "advise", nil, "slate has no public module 'advise': see slate(3)" },
            { "move", "plan", "wants { src = 14, dst = 4, pages = 1 }, not a number", {}, 14, 4 },
            { "move", "plan", "wants { src = 14, dst = 4, pages = 1 }, where src is not a string", {}, { src = "x" } },
            { "snapshot", "take", "wants a client of client.connect, not a string", "127.0.0.1:11211" },
            { "snapshot", "rates", "wants two snapshots, not a nil", {} },
            { "client", "connect", 'wants an address, such as "127.0.0.1:11211", not a nil' },
            { "doctor", "findings", "wants { now = snapshot, before = snapshot }, not a nil", {} },
            { "chart", "write", 'wants { terminal = "png" }, not a nil', {}, "x.png" } }) do
            local ok, message = pcall(function() -- a tail call would hide the caller's line
                local answer = slate[case[1]][case[2]](table.unpack(case, 4))
                return answer
            end)
            assert.is_false(ok)
            assert.truthy(message:find(case[3], 1, true), message)
            assert.truthy(message:find("^tests/spec/lua_library_spec.lua:%d+: "), message)
        end
    end)

    it("has a reference that LDoc makes without a remark", function()
        if not has("ldoc") then
            pending("ldoc is not installed")
            return
        end
        local folder = server.folder()
        finally(function() server.remove_folder(folder) end)
        local line = ("scripts/make-doc %s >%s/said 2>%s/remarks"):format(folder, folder, folder)
        assert.equal(0, select(3, os.execute(line)))
        assert.equal("", command.read_file(folder .. "/remarks"))
        local page = command.read_file(folder .. "/html/modules/slate.fleet.ring.html")
        assert.truthy(page:find("The server that holds a key", 1, true))
    end)

    it("has a rock with all files that the library reads, whose slatectl knows its version and finds slated", function()
        local spec, folder = {}, server.folder()
        finally(function() server.remove_folder(folder) end)
        assert(loadfile("slate-scm-1.rockspec", "t", spec))()
        assert.is_true(os.execute(spec.build.build_command))
        assert.is_true(os.execute((spec.build.install_command:gsub("%$%(LUADIR%)", folder .. "/rock"))))
        assert.is_true(os.execute(("cp %s %s/slatectl"):format(spec.build.install.bin.slatectl, folder)))
        server.write_file(folder .. "/trace", "a\nb\na\n")
        for arguments, part in pairs({ ["explain hits"] = "hit", ["policy list"] = "ratio",
            version = command.read_file("Makefile"):match("\nVERSION := (%S+)"),
            ["simulate " .. folder .. "/trace --objects 2 --policy lru"] = "0.3333" }) do
            local line = "PATH=$PWD/build/bin:$PATH; cd / && LUA_PATH='%s/rock/?.lua;;' %s/slatectl %s >%s/out"
            assert.is_true(os.execute(line:format(folder, folder, arguments, folder)))
            local said = command.read_file(folder .. "/out")
            assert.truthy(said:find(part, 1, true), arguments .. ": " .. said)
        end
    end)
end)
