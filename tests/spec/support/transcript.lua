-- SPDX-License-Identifier: BSD-3-Clause
-- Transcripts: a client's bytes and the exact replies, as text.
-- tests/proto/README.md describes the format. This module parses a transcript and
-- compares replies with it; it opens no socket and starts no server.

local lfs = require "lfs"

local M = {}

-- Runs longer than this are data, not syntax: byte-by-byte feeding may send them in pieces.
M.LONG_RUN_BYTES = 4096

local ESCAPES = { r = "\r", n = "\n", t = "\t", ["\\"] = "\\", ["{"] = "{", ["<"] = "<" }

local function fail(where, ...) error(("%s: %s"):format(where, string.format(...)), 0) end

-- Reads one escaped byte at `at`; returns the byte and the position after it.
local function read_byte(text, at, where)
    local char = text:sub(at, at)
    if char ~= "\\" then
        return char, at + 1
    end
    local escaped = text:sub(at + 1, at + 1)
    if ESCAPES[escaped] then
        return ESCAPES[escaped], at + 2
    end
    local hex = text:match("^x(%x%x)", at + 1)
    if not hex then
        fail(where, "unknown escape in %q", text:sub(at, at + 3))
    end
    return string.char(tonumber(hex, 16)), at + 4
end

-- `{a*2048}` at `at`: the byte repeated, and the position after the brace.
local function read_run(text, at, where)
    local byte, after = read_byte(text, at + 1, where)
    local count, close = text:match("^%*(%d+)}()", after)
    if not count then
        fail(where, "a repeat is written {byte*count}")
    end
    return byte:rep(tonumber(count)), close
end

-- `<name>` or `<name^floor>` at `at`.
local function read_placeholder(text, at, where)
    local name, floor, close = text:match("^<([%l_][%w_]*)%^?([%w_]*)>()", at)
    if not name then
        fail(where, "a placeholder is written <name> or <name^floor>; a plain '<' is written \\<")
    end
    return { name = name, floor = floor ~= "" and floor or nil, where = where }, close
end

-- Splits the text after "> " or "< " into pieces: { bytes = ..., long = bool } or { name = ..., floor = ... }.
local function read_pieces(text, where)
    local pieces, plain, at = {}, {}, 1
    local function flush()
        if #plain > 0 then
            pieces[#pieces + 1] = { bytes = table.concat(plain), where = where }
            plain = {}
        end
    end
    while at <= #text do
        local char = text:sub(at, at)
        if char == "{" then
            local run
            run, at = read_run(text, at, where)
            if #run > M.LONG_RUN_BYTES then
                flush()
                pieces[#pieces + 1] = { bytes = run, long = true, where = where }
            else
                plain[#plain + 1] = run
            end
        elseif char == "<" then
            flush()
            pieces[#pieces + 1], at = read_placeholder(text, at, where)
        else
            plain[#plain + 1], at = read_byte(text, at, where)
        end
    end
    flush()
    return pieces
end

local function read_header(script, text, where)
    local options = text:match("^option (.+)")
    if options then
        for word in options:gmatch("%S+") do script.options[#script.options + 1] = word end
    elseif text == "debug" or text == "net" or text == "slab" or text == "whole" then
        script[text] = true
    else
        fail(where, "unknown header %q", text)
    end
end

--- Parses a transcript.
-- @param text the file's content
-- @param name the name in errors
-- @return { name, options = {words}, debug, net, slab, whole, steps = {...} }; a step is
--   { kind = "send" | "expect", pieces }, { kind = "connection", id }, { kind = "wait" } or
--     { kind = "close" }.
-- Raises an error with the line's number when the text is no transcript.
function M.parse(text, name)
    local script = { name = name, options = {}, steps = {} }
    local number = 0
    for line in text:gmatch("([^\n]*)\n?") do
        number = number + 1
        local where = ("%s:%d"):format(name, number)
        local mark, rest = line:match("^([><!@=]) (.*)$")
        local steps = script.steps
        if mark == ">" or mark == "<" then
            local kind = mark == ">" and "send" or "expect"
            steps[#steps + 1] = { kind = kind, pieces = read_pieces(rest, where), where = where }
        elseif mark == "!" and #steps == 0 then
            read_header(script, rest, where)
        elseif mark == "@" and rest:match("^%d+$") then
            steps[#steps + 1] = { kind = "connection", id = tonumber(rest), where = where }
        elseif line == "= close" or line == "= wait" then
            steps[#steps + 1] = { kind = line:sub(3), where = where }
        elseif line ~= "" and line:sub(1, 1) ~= "#" then
            fail(where, "not a transcript line: %q", line)
        end
    end
    return script
end

--- The transcripts of a folder, by name.
-- @param pattern a Lua pattern for names; nil: all
function M.all(folder, pattern)
    local list = {}
    for name in lfs.dir(folder) do
        if name:match("%.txt$") and name:match(pattern or "") then
            local file <close> = assert(io.open(folder .. "/" .. name, "rb"))
            list[#list + 1] = M.parse(file:read("a"), name)
        end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

--- Fills placeholders of a send step in from the bindings.
-- @return a list of { bytes, long }
function M.fill(pieces, bindings)
    local filled = {}
    for i, piece in ipairs(pieces) do
        if not piece.name then
            filled[i] = piece
        elseif not bindings[piece.name] then
            fail(piece.where, "<%s> is sent before a reply has bound it", piece.name)
        else
            filled[i] = { bytes = bindings[piece.name] }
        end
    end
    return filled
end

--- True when a send step needs a reply first, because the step sends a bound placeholder.
function M.needs_reply(pieces)
    for _, piece in ipairs(pieces) do
        if piece.name then
            return true
        end
    end
    return false
end

--- Writes bytes so that a person can read them in a failure message; long ones are cut.
function M.show(bytes)
    local cut = bytes:sub(1, 200)
    local text = cut:gsub("[%c\\\x7f-\xff]", function(char)
        return ({ ["\r"] = "\\r", ["\n"] = "\\n", ["\\"] = "\\\\" })[char] or ("\\x%02x"):format(char:byte())
    end)
    return #bytes > #cut and ("%s... (%d bytes)"):format(text, #bytes) or text
end

-- Unsigned decimals of any length: a > b.
local function above(a, b)
    a, b = a:gsub("^0+", ""), b:gsub("^0+", "")
    return #a > #b or (#a == #b and a > b)
end

local Matcher = {}
Matcher.__index = Matcher
Matcher.__name = "transcript.Matcher"

--- Compares a stream of reply bytes with expected pieces.
-- @param bindings table shared by all connections of a run: placeholder name -> digits
function M.matcher(bindings)
    return setmetatable({ pieces = {}, next = 1, buffer = "", bindings = bindings }, Matcher)
end

--- Adds pieces that must come next.
function Matcher:expect(pieces) table.move(pieces, 1, #pieces, #self.pieces + 1, self.pieces) end

function Matcher:_literal(piece)
    local have, want = self.buffer:sub(1, #piece.bytes), piece.bytes
    if have ~= want:sub(1, #have) then
        fail(piece.where, "expected  %s\n     got       %s", M.show(want), M.show(self.buffer))
    end
    return #have == #want and #want or nil
end

function Matcher:_line(piece)
    local stop = self.buffer:find("[\r\n]")
    if stop == 1 then
        fail(piece.where, "expected some text at <line>, got %s", M.show(self.buffer))
    end
    return stop and stop - 1
end

function Matcher:_number(piece)
    local digits, after = self.buffer:match("^(%-?%d*)()")
    if after > #self.buffer then
        return nil -- more digits may follow
    end
    if not digits:match("%d") then
        fail(piece.where, "expected a number at <%s>, got %s", piece.name, M.show(self.buffer))
    end
    local bindings = self.bindings
    local floor = piece.floor and bindings[piece.floor]
    if piece.floor and not (floor and above(digits, floor)) then
        fail(piece.where, "expected <%s> above %s, got %s", piece.name, floor or "an unbound name", digits)
    end
    if piece.name ~= "num" then
        local bound = bindings[piece.name]
        if bound and bound ~= digits then
            fail(piece.where, "expected <%s> to be %s again, got %s", piece.name, bound, digits)
        end
        bindings[piece.name] = digits
    end
    return #digits
end

--- Takes reply bytes. Raises an error that names the transcript's line when they differ.
-- @return true when everything expected so far has come and nothing else
function Matcher:feed(bytes)
    self.buffer = self.buffer .. bytes
    while self.next <= #self.pieces do
        local piece = self.pieces[self.next]
        if self.buffer == "" then
            return false
        end
        local check = piece.bytes and self._literal or piece.name == "line" and self._line or self._number
        local used = check(self, piece)
        if not used then
            return false
        end
        self.buffer = self.buffer:sub(used + 1)
        self.next = self.next + 1
    end
    if self.buffer ~= "" then
        local last = self.pieces[#self.pieces]
        fail(last and last.where or "start", "unexpected bytes after this: %s", M.show(self.buffer))
    end
    return true
end

--- The first piece that has not come yet, as text, for messages.
function Matcher:missing()
    local piece = self.pieces[self.next]
    if not piece then
        return "nothing"
    end
    return ("%s: %s"):format(piece.where, piece.bytes and M.show(piece.bytes) or "<" .. piece.name .. ">")
end

return M
