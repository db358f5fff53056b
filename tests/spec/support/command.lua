-- SPDX-License-Identifier: BSD-3-Clause
--- Runs slatectl, from the source tree, with command lines.
local assert = require "luassert"
local fill = require "support.fill"
local server = require "support.server"
local slatectl = require "support.slatectl"

local M = {}

--- A file's text.
function M.read_file(path) return (assert(server.read_file(path), path)) end

--- The folder of the source tree.
function M.root() return server.capture("pwd") end

-- A runner's operations in its folder, which may be set later.
local function runner(options)
    local self = { root = M.root(), clock = not (options and options.waits) and {} or nil }

    local function variables()
        local folder = self.folder
        return { SLATE_AUDIT = folder .. "/audit.log", SLATE_LOCK_DIR = folder, SLATE_RULES = folder .. "/none.lua",
            HOME = folder, SLATE_SERVER = self.server }
    end

    --- Runs a shell line, in which the word slatectl stands for the source tree's, in processes. Returns exit code,
    --- output and messages.
    function self.process(line)
        local script = ("cd %s || exit\nPATH=%s:$PATH\n{ %s\n} >.out 2>.err </dev/null"):format(
            server.quoted(self.folder), server.quoted(("%s/scripts:%s/build/bin"):format(self.root, self.root)), line)
        local words = {}
        for name, value in pairs(variables()) do
            words[#words + 1] = name .. "=" .. server.quoted(value) .. " "
        end
        -- luasocket, loaded by specs, ignores SIGPIPE, and children inherit that; a person's shell does not.
        local _, _, code = os.execute(("%senv --default-signal=PIPE sh -c %s"):format(table.concat(words),
            server.quoted(script)))
        return code, M.read_file(self.folder .. "/.out"), M.read_file(self.folder .. "/.err")
    end

    --- The same; but a line that runs slatectl and nothing else runs in this process. meanwhile, beside: of
    -- support.slatectl.
    function self.shell(line, meanwhile, beside)
        local words, environment = slatectl.words_of(line)
        if not words then
            return self.process(line)
        end
        for name, value in pairs(variables()) do environment[name] = environment[name] or value end
        return slatectl.run({ words = words, environment = environment, folder = self.folder,
            clock = self.clock, meanwhile = meanwhile, beside = beside })
    end

    --- Runs slatectl with these arguments (one string, for the shell).
    function self.run(arguments, meanwhile) return self.shell("slatectl " .. arguments, meanwhile) end

    --- The same, while `f` runs.
    function self.beside(arguments, f) return self.shell("slatectl " .. arguments, nil, f) end

    --- The same for a line that must exit with 0. Returns its output and messages.
    function self.succeed(arguments)
        local code, out, err = self.run(arguments)
        assert.equal(0, code, arguments .. ": " .. err .. out)
        return out, err
    end

    --- Runs arguments that must exit with a code other than 0, and print each of these parts. Returns the messages.
    function self.refuses(code, arguments, ...)
        local is, out, err = self.run(arguments)
        assert.equal(code, is, arguments .. ": " .. err .. out)
        for _, part in ipairs({ ... }) do
            assert.truthy(err:find(part, 1, true), arguments .. ": " .. err)
        end
        return err
    end

    function self.remove() server.remove_folder(self.folder) end

    return self
end

--- A runner with a folder of its own for files. Call `remove` at the end. options.server: the address for SLATE_SERVER;
-- options.waits: commands really sleep; otherwise time leaps over sleeps.
function M.new(options)
    local self = runner(options)
    self.folder, self.server = server.folder(), options and options.server
    return self
end

--- For a claim with its own runner, in place of a block's setup; the runner ends by `finally`.
function M.now(f) f() end

--- A runner with a folder from a block's setup to its teardown, or for each claim.
function M.alone(setup, teardown, options)
    local self = runner(options)
    self.server = options and options.server
    setup(function() self.folder = server.folder() end)
    teardown(function() self.remove() end)
    return self
end

--- A runner, a server and a client (its `one` and `client`), from a block's setup to its teardown. options: those of
-- support.server; pages: the number for class 5; class 12 gets all others, so that no free page hides a move.
function M.beside(setup, teardown, options)
    local self = runner(options)
    setup(function()
        self.folder, self.one = server.folder(), server.start(options)
        self.client, self.server = self.one:connect(), self.one.address
        if options.pages then
            assert.equal(options.pages, fill.fill(self.client, 5, options.pages))
            assert.is_true(fill.fill(self.client, 12) >= 6)
        end
    end)
    --- The settings and the eviction policy, as the server writes them.
    function self.settings() return (assert(require("slate.facts.runtime").read(self.client))) end

    teardown(function()
        self.client:close()
        self.one:stop()
        self.remove()
    end)
    return self
end

return M
