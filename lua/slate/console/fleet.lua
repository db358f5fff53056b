-- SPDX-License-Identifier: BSD-3-Clause
--- The servers that slatetop watches, a session each, and the lists that name several.
--
-- A name is looked up again every minute, a file is read again every two seconds; every server found is watched from
-- then on. The watch ends when a server has left its list: for a file at once; for a name once the server is down as
-- well, because name servers return changing parts of a long list. No call blocks.
local address = require "slate.console.address"
local gather = require "slate.base.gather"
local lists = require "slate.wire.lists"

local printable = require("slate.wire.request").printable

local M = {}

local MOST_SERVERS <const>, MOST_LISTS <const> = address.MOST_SERVERS, 8
local AGAIN_S <const> = { dns = 60, file = 2 }
local RETRY_S <const> = 5
local LOOKUP_S <const> = 20 -- then a lookup is given up: the system tries several name servers, 5 s each

local Fleet = {}
Fleet.__index = Fleet

--- Starts with no server. about: `open(server)`, which returns a session; for lookups `discover` (of
--- slate.console.link) and `ways` (of slate.wire.lists).
--- Fields: `sessions`, a list; `lists`, of { server, due_s, note (the mistake of the last lookup; nil: none) }.
function M.new(about)
    return setmetatable({ about = about, sessions = {}, lists = {}, origins = {} }, Fleet)
end

--- A fleet without servers on this machine. core: of slate.console.app.
function M.of_core(core)
    return M.new({ open = core.open_session, discover = core.link.discover,
        ways = { addresses = core.link.addresses, read_file = core.files.read } })
end

-- Adds a server that a list, or the operator (nil), names. A server named twice is watched once. False: there are too
-- many.
function Fleet:add_server(server, list)
    for i, session in ipairs(self.sessions) do
        if session.address == server.name then
            local origin = self.origins[i]
            if not list or origin.list == list or origin.has_left then
                self.origins[i] = { list = list }
            end
            return true
        end
    end
    if #self.sessions == MOST_SERVERS then
        return false
    end
    self.sessions[#self.sessions + 1] = self.about.open(server)
    self.origins[#self.sessions] = { list = list }
    return true
end

--- Adds a server or a list of servers, of slate.console.address. False when there are too many.
function Fleet:add(server)
    if not server.is_list then
        return self:add_server(server)
    elseif #self.lists == MOST_LISTS then
        return false
    end
    self.lists[#self.lists + 1] = { server = server, due_s = 0 }
    return true
end

-- In the child that looks a list up: its servers a line each, or "!" and a message.
local function look_up(word, ways)
    return function()
        local list, message = lists.parse(word)
        local servers
        if list then
            servers, message = lists.servers(list, ways)
        end
        if not servers then
            return "!" .. (message or "that is no list of servers")
        end
        local names = gather.values(servers, function(server) return server.name .. "\n" end)
        return table.concat(names)
    end
end

-- Adds a server of a list by its address as text; returns the mistake, or nil.
function Fleet:add_found(list, text)
    local of = list.server
    local server, why = address.parse(text)
    if server and of.tls then
        server, why = address.with_tls(server)
    end
    if not server then
        return ("%s: %s"):format(of.name, why)
    elseif of.tls and of.is_list == "dns" then
        server.tls_name = of.host -- certificates have the name, not the addresses
    end
    if not self:add_server(server, list) then
        return ("%s names more servers than the %d that can be watched"):format(of.name, MOST_SERVERS)
    end
end

function Fleet:take_answer(list, text, now_s)
    if text == "" or text:sub(1, 1) == "!" then
        list.note = text == "" and "the servers of a list could not be looked up" or text:sub(2)
        list.due_s = now_s + RETRY_S
        return
    end
    list.note, list.due_s = nil, now_s + AGAIN_S[list.server.is_list]
    for _, origin in ipairs(self.origins) do
        origin.has_left = origin.has_left or origin.list == list
    end
    for line in text:gmatch("[^\n]+") do
        list.note = self:add_found(list, line) or list.note
    end
end

-- True if servers came or the note changed.
function Fleet:step_list(list, now_s)
    local text = list.lookup and list.lookup:take()
    if text then
        list.lookup:close()
        list.lookup = nil
        self:take_answer(list, text, now_s)
    elseif now_s < list.due_s then
        return false
    elseif list.lookup then
        list.lookup:close()
        list.lookup = nil
        list.note = ("%s: no answer within %d s"):format(list.server.name, LOOKUP_S)
        list.due_s = now_s + RETRY_S
    else
        list.due_s = now_s + LOOKUP_S
        list.lookup = self.about.discover(look_up(list.server.word, self.about.ways))
        if list.lookup then
            return false
        end
        list.note, list.due_s = "cannot start the look-up of a list of servers", now_s + RETRY_S
    end
    list.note = list.note and printable(list.note) -- it may quote words of a file
    return true
end

--- Looks lists up. True when servers came or a note changed.
function Fleet:step_lists(now_s)
    local has_news = false
    for _, list in ipairs(self.lists) do
        has_news = self:step_list(list, now_s) or has_news
    end
    return has_news
end

--- The mistake of a list; "" for none.
function Fleet:note()
    for _, list in ipairs(self.lists) do
        if list.note then
            return list.note
        end
    end
    return ""
end

--- Ends the watch of one server that has left its list, and returns its index, to which the next ones move up; nil:
--- there is none. shown, the session on the screen, stays, and so does one with a change under way.
function Fleet:drop_left(shown)
    for i, session in ipairs(self.sessions) do
        local origin = self.origins[i]
        local is_over = origin.has_left and (origin.list.server.is_list == "file" or session.model.link == "down")
        if is_over and session ~= shown and not session.changes:is_busy() then
            session:close()
            table.remove(self.sessions, i)
            table.remove(self.origins, i)
            return i
        end
    end
end

--- Reads what has come of all servers.
function Fleet:read(now_s)
    for _, session in ipairs(self.sessions) do
        session:read(now_s)
    end
end

--- Appends to a list what slate.console.link.wait waits for.
function Fleet:add_polled(polled)
    for _, session in ipairs(self.sessions) do
        session:polled(polled)
    end
    for _, list in ipairs(self.lists) do
        polled[#polled + 1] = list.lookup
    end
end

--- The time of the next step; nil: never.
function Fleet:due_s()
    local due_s = math.huge
    for _, session in ipairs(self.sessions) do
        due_s = math.min(due_s, session:due_s() or math.huge)
    end
    for _, list in ipairs(self.lists) do
        due_s = math.min(due_s, list.due_s)
    end
    return due_s < math.huge and due_s or nil
end

--- Ends all.
function Fleet:close()
    for _, session in ipairs(self.sessions) do
        session:close()
    end
    for _, list in ipairs(self.lists) do
        if list.lookup then
            list.lookup:close()
        end
    end
end

return M
