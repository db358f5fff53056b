-- SPDX-License-Identifier: BSD-3-Clause
--- Policies: files in Lua that decide which pages should move. slate-policies(7) describes how to write one.
--
--     local policy = require "slate.policy.file"
--     local one = assert(policy.open("utility"))
--     local running = assert(one:start({ "window_s=30" }))
--     local moves, why = running:decide(before, after) -- of slate.facts.snapshot
--
-- A policy runs in a sandbox, under limits, by the rules of slate.base.policy_core. slated applies the same rules to
-- `slabs automove lua:NAME`, so a policy decides the same everywhere.
local core = require "slate.base.policy_core"
local input = require "slate.base.input"
local policy_box = require "slate.base.policy_box"
local sandbox = require "slate.base.sandbox"
local shell = require "slate.base.shell"

local M = {}

M.NAME = "^[%w_-]+$"
M.NAME_BYTES = 48

local SHOWN_DEPTH <const> = 3 -- levels of the file's table: down to a setting's default, a check's name

--- The folder of policies with a name: SLATE_POLICY_DIR, or that of the policies that come with Slate.
function M.folder()
    return os.getenv("SLATE_POLICY_DIR")
        or (assert(package.searchpath("slate.policy.file", package.path)):gsub("policy/file%.lua$", "policies"))
end

--- The names of the policies in that folder.
function M.names()
    local pipe <close>, names = io.popen("ls -- " .. shell.word(M.folder()) .. " 2>/dev/null"), {}
    for line in pipe:lines() do
        names[#names + 1] = line:match("^([%w_-]+)%.lua$")
    end
    return names
end

--- The path of a policy: the file if its name has a slash or ends in .lua, else NAME.lua in M.folder(). Returns nil,
-- message, code when there is none.
function M.find(name)
    local path = name
    if not name:find("/", 1, true) and not name:find("%.lua$") then
        if not name:find(M.NAME) or #name > M.NAME_BYTES then
            return nil, ("'%s' is not a policy: a name is up to %d letters, digits, - and _, a file ends in .lua")
                :format(name, M.NAME_BYTES), "usage"
        end
        path = ("%s/%s.lua"):format(M.folder(), name)
    end
    local kind = input.kind(path)
    if kind and kind ~= "file" then
        return nil, path .. " is not a regular file", "input"
    end
    local file, problem = io.open(path, "rb")
    if not file and path == name then
        return nil, "no policy " .. problem, "input"
    elseif not file then
        return nil, ("no policy %s; 'slatectl policy list' names those there are, a file ends in .lua"):format(name),
            "usage"
    end
    file:close()
    return path
end

--- The text of a policy's file; or nil and a message.
function M.read_source(path)
    local text, problem = input.read(path, policy_box.LIMITS.source_bytes + 1)
    if not text or text == "" then
        return nil, "cannot read " .. (problem or path .. ": it is empty")
    elseif #text > policy_box.LIMITS.source_bytes then
        return nil, ("%s is longer than %d KiB"):format(path, policy_box.LIMITS.source_bytes >> 10)
    end
    return text
end

local Policy = {}
Policy.__index = Policy
Policy.__name = "slate.policy.file"

local Running = {}
Running.__index = Running
Running.__name = "slate.policy.file.running"

--- Makes a policy of source text. name: for messages. options: log (function of a printed line), limits.
-- Returns { name =, summary =, settings =, shown = (what its file returned, without metatables), text = }, or nil and a
-- message.
function M.load(text, name, options)
    options = options or {}
    local box = sandbox.new(options.log, options.limits)
    local chunk, problem = box:load(text, name)
    if not chunk then
        return nil, problem
    end
    local ok, value = box:call(chunk)
    if not ok then
        return nil, value
    elseif type(value) ~= "table" then
        return nil, ("the file returns a %s, not a table with a function decide"):format(type(value))
    end
    local shown = sandbox.plain(value, SHOWN_DEPTH)
    return setmetatable({
        box = box, value = value, shown = shown, text = text, name = name:gsub("^.*/", ""):gsub("%.lua$", ""),
        summary = type(shown.summary) == "string" and policy_box.printable(shown.summary) or nil,
        settings = type(shown.settings) == "table" and shown.settings or {},
    }, Policy)
end

--- Finds, reads and loads a policy by its name or file. Returns the policy with `path`, or nil, message, code.
function M.open(name, options)
    local path, message, code = M.find(name)
    if not path then
        return nil, message, code
    end
    local text, problem = M.read_source(path)
    if not text then
        return nil, problem, "input"
    end
    local short = path:gsub("^.*/", "")
    local policy, broken = M.load(text, short, options)
    if not policy then
        return nil, ("policy %s: %s"):format(short:gsub("%.lua$", ""), broken), "no"
    end
    policy.path = path
    return policy
end

--- Starts a policy with settings, a list of "name=value". Returns the running policy, with `settings` (by name),
-- `window_s` and `wants_curves` (of its classes, if the server samples keys), or nil and a message.
function Policy:start(words)
    local ok, ready = self.box:call(core.start, self.value, words or {})
    if not ok then
        return nil, ready
    end
    local running = { box = self.box, ready = ready, settings = ready.settings, window_s = ready.window_s,
        wants_curves = ready.wants_curves }
    return setmetatable(running, Running)
end

--- Decides. before, after: snapshots. Returns a list of { from =, to =, pages =, reason = }, and a sentence if the
-- policy gave one; or nil and a message when the policy is broken.
function Running:decide(before, after)
    local ok, moves, why = self.box:call(core.decide, self.ready, before, after)
    if not ok then
        return nil, moves
    end
    return moves, why
end

--- Reports the results of the last decision's moves to the policy: in their order { state, pages_moved, items_lost,
-- items_rescued }, as far as they are known.
function Running:report(results)
    core.report(self.ready, results)
end

--- True if the policy decides at this snapshot.
function Running:is_due(snapshot)
    local before = self.before
    return before ~= nil and not require("slate.facts.snapshot").is_restart(before, snapshot)
        and core.is_due(self.ready, before, snapshot)
end

--- Takes one snapshot after the other and decides at the end of the policy's window, as slated does each second.
-- Returns nothing when it is too early; else the results of `decide`. A restarted server begins a new window.
function Running:feed(snapshot)
    local before, is_due = self.before, self:is_due(snapshot)
    if is_due or not before or require("slate.facts.snapshot").is_restart(before, snapshot) then
        self.before = snapshot
    end
    if is_due then
        return self:decide(before, snapshot)
    end
end

--- The declared settings as a list sorted by name: { name =, default =, min =, max =, unit =, help = }.
function Policy:setting_list()
    local list = {}
    for name, row in next, self.settings do
        if type(name) == "string" and type(row) == "table" then
            list[#list + 1] = {
                name = name, default = row.default, min = row.min, max = row.max, unit = row.unit, help = row.help,
            }
        end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

return M
