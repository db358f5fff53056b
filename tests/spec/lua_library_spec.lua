-- SPDX-License-Identifier: BSD-3-Clause
-- The library as a whole: documented, and installable as a rock.
local command = require "support.command"
local server = require "support.server"

local function modules()
    local pipe = assert(io.popen("ls lua/slate/*/*.lua | grep -v /policies/"))
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
