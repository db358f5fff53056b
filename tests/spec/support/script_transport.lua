-- SPDX-License-Identifier: BSD-3-Clause
--- A transport that plays a script of expected requests and their replies.
--
-- script: list of { sent, reply }; a reply of nil times out, false closes the connection. A reply
-- may be a function of the number of times its entry was reached; an entry with `again = true`
-- serves every later send of the same text. Any other request is an error.
local M = {}

local Transport = {}
Transport.__index = Transport

function Transport:send(bytes)
    self.log[#self.log + 1] = bytes
    local entry = self.script[self.at]
    if entry and entry.again and entry[1] ~= bytes then
        self.at = self.at + 1
        entry = self.script[self.at]
    end
    assert(entry and entry[1] == bytes, ("unexpected send: %q"):format(bytes))
    local reply = entry[2]
    if type(reply) == "function" then
        entry.times = (entry.times or 0) + 1
        reply = reply(entry.times)
    end
    self.pending = reply and self.pending .. reply or self.pending
    self.ending = not reply and (reply == nil and "timeout" or "closed") or nil
    if not entry.again then
        self.at = self.at + 1
    end
    return true
end

function Transport:starved()
    local code = self.ending or "timeout"
    return nil, "script " .. code, code
end

function Transport:receive_line()
    local line, rest = self.pending:match("^([^\n]*)\n(.*)$")
    if not line then
        return self:starved()
    end
    self.pending = rest
    return (line:gsub("\r$", ""))
end

function Transport:receive_bytes(count)
    if #self.pending < count then
        return self:starved()
    end
    local bytes = self.pending:sub(1, count)
    self.pending = self.pending:sub(count + 1)
    return bytes
end

function Transport:close() self.closed = true end

--- Was the whole script played?
function Transport:is_done()
    local last = self.script[#self.script]
    return self.at > #self.script or self.at == #self.script and last.again == true
end

function M.new(script) return setmetatable({ script = script, at = 1, pending = "", log = {} }, Transport) end

return M
