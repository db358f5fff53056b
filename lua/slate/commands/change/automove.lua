-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl automove [MODE]: shows or sets the mode in which the server moves pages by itself.
local automove = require "slate.facts.automove"
local must = require("slate.base.failure").must

local M = {}

function M.declare(command)
    command:argument("mode", "0 or off, 1 or ratio, 2 or eviction; slated also has random, lra, "
        .. "lrc, utility and lua:NAME. Without it the present mode is shown."):args("?")
        :argname("MODE"):convert(function(text)
            if text:find("^[%w_.:-]+$") then
                return text
            end
            return nil, "a mode is one word: off, ratio, eviction or another of slated's"
        end)
    command:argument("setting", "Settings of a policy, with lua:NAME: name=value."):args("*"):argname("SETTING")
        :convert(function(text)
            if text:find("^[%a_][%w_]*=[%g]*$") then
                return text
            end
            return nil, ("'%s' is not a setting: write name=value"):format(text)
        end)
end

-- Returns the state that the server reports, and a sentence if a mode failed. On failure: nil, message, code.
local function read_state(context, client)
    local now = must(context:snapshot(client))
    local settings = now.settings or {}
    if settings.slab_automove == nil then
        return nil, "this server does not report an automove mode", "unsupported"
    end
    local mode = automove.of(settings.slab_automove)
    local moves = require "slate.facts.moves"
    local totals = now.slated and moves.read(client) or nil
    return {
        server = now.server, mode = settings.slab_automove, name = mode and mode.name, help = mode and mode.words,
        ratio = settings.slab_automove_ratio, window_s = settings.slab_automove_window,
        failed = moves.failed(totals), free_ratio = settings.slab_automove_freeratio, reassign = settings.slab_reassign,
        pages_moved = now.general.slabs_moved, free_pool_pages = now.general.slab_global_page_pool,
    }, moves.failure(totals)
end

local function out_state(context, state, failure)
    if context.json then
        context:out_json("slate/automove/1", state)
        return
    end
    local rows = {}
    local function add(name, value)
        if value ~= nil then
            rows[#rows + 1] = { name, tostring(value) }
        end
    end
    add("mode", automove.reported(state.mode))
    if not tostring(state.mode):find("^lua:") then -- a policy has settings of its own
        add("ratio", state.ratio)
        add("window", state.window_s)
        add("free ratio", state.free_ratio)
    end
    add("pages moved", state.pages_moved)
    add("free pool", state.free_pool_pages and require("slate.base.units").plural(state.free_pool_pages, "page"))
    context:out(context:pairs(rows, true), failure and failure .. "\n" or "")
end

-- The modes of a server, for a refusal that does not list them.
local function known_modes(who)
    local names = {}
    for _, mode in ipairs(automove.MODES) do
        names[#names + 1] = (mode.number or who.slated) and mode.name:gsub(":$", ":NAME") or nil
    end
    return table.concat(names, ", ", 1, #names - 1) .. " and " .. names[#names] .. " are known"
end

-- Sets the mode; the server checks a word that the library does not know. True, or nil, message, code.
local function set_mode(client, who, mode, word)
    local line, problem, why = client:command("slabs automove " .. (mode.number or mode.name))
    if not line then
        return nil, problem, why
    elseif line ~= "OK" then
        local has = line:match("^CLIENT_ERROR automove (wants .*)")
        if not mode.number and (has or line == "ERROR" or line:find("bad command line", 1, true)) then
            return nil, ("%s has no automove mode '%s' (%s); it stays as it was"):format(
                who.slated and "slated " .. who.slated or "memcached " .. who.version, word,
                has or known_modes(who)), "unsupported"
        end
        local message, code = require("slate.facts.runtime").refusal(line)
        return nil, "automove stays as it was; " .. message, code
    end
    return true
end

-- Sets the mode, on record. Returns it.
local function change_mode(context, client, who, word)
    local runtime = require "slate.facts.runtime"
    local mode = automove.of(word) or { name = word }
    local entry = { what = "set", name = "slab_automove", was = must(runtime.read(client, who)).slab_automove,
        is = tostring(mode.number or mode.name) }
    must(require("slate.act.recorded").make(context, client, entry, function()
        local ok, message, code = set_mode(client, who, mode, word)
        local values = ok and runtime.read(client, who)
        entry.is = values and values.slab_automove or entry.is
        return ok, message, code
    end))
    return mode
end

function M.run(context, parsed)
    local client, who = must(context:open())
    local wanted
    if parsed.mode then
        local fault = require("slate.facts.faults").of_setting(who, "slab_automove", parsed.mode)
        if fault then
            context:print_note("caution: " .. fault)
        end
        wanted = change_mode(context, client, who, table.concat({ parsed.mode, table.unpack(parsed.setting) }, " "))
    end
    local state, failure = must(read_state(context, client))
    client:close()
    out_state(context, state, failure)
    if wanted and state.mode ~= wanted.number and state.name ~= wanted.name and state.mode ~= wanted.name then
        return nil, ("the server answered OK, but its mode is %s"):format(automove.name_of(state.mode)), "no"
    end
    return 0
end

return M
