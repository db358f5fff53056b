-- SPDX-License-Identifier: BSD-3-Clause
--- The operator's own names of servers: lines "NAME = ADDRESS" in a file, which slatetop reads, too.
--
-- slate.base.places has the file's path. A name may stand for several servers, with commas between. "#" begins a
-- comment line.
local places = require "slate.base.places"
local trimmed = require("slate.base.units").trimmed

local M = {}

M.MAX_BYTES = 64 * 1024

--- The path of the file; nil without a home.
function M.path(environment)
    return places.path("servers", environment or os.getenv)
end

--- True if a word may be a name: an address has a colon or a slash.
function M.is_name(word)
    return word:find("^[%w][%w_.-]*$") ~= nil
end

--- Reads the text of such a file. Returns a table from each name to its addresses as written, and the names in their
-- order; or nil and a message.
function M.read(text, path)
    local addresses, order, number = {}, {}, 0
    text = text:gsub("^\xef\xbb\xbf", "") -- a mark of UTF-8 that some editors write, and that no message would show
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        number = number + 1
        line = trimmed(line:match("^%s*(.*)$"))
        if line ~= "" and line:sub(1, 1) ~= "#" then
            local name, value = line:match("^(%S+)%s*=%s*(%S.*)$")
            if not name or not M.is_name(name) then
                return nil, ("%s:%d: a server is 'name = address', its name of letters, digits, '_', '-' and '.'")
                    :format(path, number)
            elseif addresses[name] then
                return nil, ("%s:%d: %s is named twice"):format(path, number, name)
            end
            addresses[name], order[#order + 1] = (value:gsub("%s", "")), name
        end
    end
    return addresses, order
end

--- The names of the file, as from `read`; none if the usual file is absent. A file that SLATE_SERVERS names must exist.
-- ways: environment and read_file, as in slate.wire.resolver; nil: those of slate.wire.resolver.
function M.load(ways)
    ways = ways or require("slate.wire.resolver").WAYS
    local path = M.path(ways.environment)
    local text, problem, is_absent = nil, nil, true
    if path then
        text, problem, is_absent = ways.read_file(path, M.MAX_BYTES + 1)
    end
    local named = places.is_named("servers", ways.environment)
    if is_absent and not named then
        return {}, {}
    elseif not text or #text > M.MAX_BYTES then
        return nil, ("cannot read %s%s: %s"):format(path, named and ", the file of SLATE_SERVERS" or "",
            problem or "more than 64 KiB")
    end
    return M.read(text, path)
end

--- The addresses of a name, or the word itself if no name is equal to it; or nil and a message.
function M.resolve(word, ways)
    if not M.is_name(word) then
        return word
    end
    local addresses, problem = M.load(ways)
    return addresses and (addresses[word] or word), problem
end

return M
