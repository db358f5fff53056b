-- SPDX-License-Identifier: BSD-3-Clause
--- A server that is a table of answers, for all users of slate.wire.transport, under a clock that moves only by sleeps
--- and time-outs: no socket, no waiting, the same each time.
--
--     local canned = require "support.canned"
--     local one = canned.new({ "first.txt", "second.txt" }, { mn = "MN" })
--     one:install()
--     local code, out, err = one:slatectl({ "classes" })
--
-- Files of answers are those of tests/console/fixtures: "### " and a command, then the server's lines. With
-- several files each answers once, the last one for ever.
local M = {}

local Transport = {}
Transport.__index = Transport

local Server = {}
Server.__index = Server

local function read_answers(path, into)
    local lines
    for line in io.lines(path) do
        local command = line:match("^### (.*)$")
        if command then
            lines = {}
            into[command] = into[command] or {}
            table.insert(into[command], lines)
        else
            lines[#lines + 1] = (line:gsub("\r$", ""))
        end
    end
end

--- answers: a table from a command, or from its first word, to a reply's text, or to a function of the command that
-- returns that text or another command whose reply counts. damage: a function from a reply's text to another.
function M.new(paths, answers, damage)
    local self = setmetatable({ files = {}, answers = answers, damage = damage, asked = {}, unknown = {} }, Server)
    for _, path in ipairs(paths) do read_answers(path, self.files) end
    return self
end

function Server:answer_to(command)
    self.asked[command] = (self.asked[command] or 0) + 1
    local told = self.files[command]
    if told then
        return table.concat(told[math.min(self.asked[command], #told)], "\r\n") .. "\r\n"
    end
    local answer = self.answers[command] or self.answers[command:match("^%S+")]
    if answer == nil then
        self.unknown[command] = true
        return "ERROR\r\n"
    end
    answer = type(answer) == "function" and answer(command) or answer
    return self.files[answer] and self:answer_to(answer) or answer .. "\r\n"
end

-- Each command sent, with its reply; the value that follows a storing command is skipped.
function Server:answers_to(bytes)
    local parts, at = {}, 1
    while at <= #bytes do
        local line, next_at = bytes:match("^([^\r\n]*)\r?\n()", at)
        if not line then
            break
        end
        local size = line:match("^ms %S+ (%d+)") or line:match("^[sarpc]%l+ %S+ %d+ %-?%d+ (%d+)")
        at = next_at + (size and tonumber(size) + 2 or 0)
        parts[#parts + 1] = line:find(" noreply$") and "" or self:answer_to(line)
    end
    return table.concat(parts)
end

function Transport:send(bytes)
    local answer = self.server:answers_to(bytes)
    self.pending = self.pending:sub(self.at) .. (self.server.damage and self.server.damage(answer) or answer)
    self.at = 1
    return true
end

function Transport:starved(deadline_s)
    self.server.clock.wait_until(deadline_s)
    return nil, "it did not answer in time", "timeout"
end

function Transport:receive_line(deadline_s)
    local ends = self.pending:find("\n", self.at, true)
    if not ends then
        return self:starved(deadline_s)
    elseif ends - self.at > 65536 then
        return nil, "it sent a line without an end", "protocol"
    end
    local line = self.pending:sub(self.at, ends - 1):gsub("\r$", "")
    self.at = ends + 1
    return line
end

function Transport:receive_bytes(count, deadline_s)
    if #self.pending - self.at + 1 < count then
        return self:starved(deadline_s)
    end
    self.at = self.at + count
    return self.pending:sub(self.at - count, self.at - 1)
end

function Transport.close(_)
end

local BEGIN_S <const>, TICK_S <const> = 1795303400, 1e-6

-- Replaces the functions of slate.base.clock.
local function stand_still()
    local clock, now_s = require "slate.base.clock", BEGIN_S
    clock.steady_s = function()
        now_s = now_s + TICK_S
        return now_s
    end
    clock.time_s = clock.steady_s
    clock.sleep = function(seconds) now_s = now_s + math.max(0, seconds) end
    return { now = function() return now_s end,
        wait_until = function(s) now_s = math.max(now_s, s == math.huge and now_s + 1 or s) end }
end

--- Replaces all servers, and the clock, for the rest of this process.
function Server:install()
    M.clock = M.clock or stand_still()
    self.clock = M.clock
    require("slate.wire.transport").connect = function(address)
        return setmetatable({ server = self, pending = "", at = 1, name = address.name }, Transport)
    end
end

local function text_of(file)
    file:seek("set")
    local text = file:read("a")
    file:close()
    return text
end

--- Runs a command line of slatectl in this process. environment: all its variables. Returns the exit code, the output
-- and the messages.
function Server.slatectl(_, words, environment)
    local out, err, stdout, stderr, getenv = io.tmpfile(), io.tmpfile(), io.stdout, io.stderr, os.getenv
    io.stdout, io.stderr = out, err -- luacheck: ignore 122
    os.getenv = function(name) return environment[name] end -- luacheck: ignore 122
    local ok, code = pcall(require("slate.cli.main").main, words, { version = "1", bin_dir = "build/bin" })
    io.stdout, io.stderr, os.getenv = stdout, stderr, getenv -- luacheck: ignore 122
    local told, said = text_of(out), text_of(err)
    return ok and code or nil, told, ok and said or tostring(code)
end

return M
