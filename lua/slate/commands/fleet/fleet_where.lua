-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet where KEY...: the server of a fleet that holds a key.
local gather = require "slate.base.gather"
local must = require("slate.base.failure").must
local trimmed = require("slate.base.units").trimmed

local M = {}

local KINDS <const> = { "ketama", "consistent", "modula", "jump" }

--- Adds the options of the rule that maps keys to servers.
function M.declare_rule(command)
    command:option("--kind", "The rule: ketama, consistent, modula or jump. Default: ketama"):choices(KINDS)
    command:option("--hash", "The hash of keys, such as md5 or fnv1a_64. Default: md5 for ketama"):argname("NAME")
    command:flag("--sorted", "Order the servers of modula and jump by their names first, as nutcracker does.")
    command:option("--hash-tag", "Hash only what stands between these two characters of a key, such as {}, as "
        .. "nutcracker's hash_tag does."):argname("TWO"):convert(function(text)
            if #text ~= 2 then
                return nil, ("a hash tag is two characters, such as {}, not '%s'"):format(text)
            end
            return text
        end)
end

function M.declare(command)
    command:argument("keys", "The keys."):args("+"):argname("KEY")
    command:option("--servers", "A file with a line host:port:weight for each server, as nutcracker writes them.")
        :argname("FILE"):count(1)
    M.declare_rule(command)
    command:option("--copies", "Name this many servers for each key. Default: 1"):argname("N")
        :convert(require("slate.base.units").whole(1))
end

local function read_servers(path)
    local whole, problem = require("slate.base.input").read(path)
    if not whole then
        return nil, "cannot read " .. problem, "input"
    end
    local servers = {}
    for line in whole:gmatch("[^\n]+") do
        local text = trimmed(line:gsub("#.*", ""):match("^[%s-]*(.*)$"))
        servers[#servers + 1] = text ~= "" and text or nil
    end
    return servers
end

--- The ring of the options --servers, --kind, --hash and --sorted.
function M.ring_of(parsed)
    return must(require("slate.fleet.ring").new(must(read_servers(parsed.servers)),
        { kind = parsed.kind, hash = parsed.hash, sorted = parsed.sorted }))
end

--- The part of a key to hash: the text between the tag's two characters, or the whole key if these enclose no text.
function M.hashed_part(key, tag)
    local first = tag and key:find(tag:sub(1, 1), 1, true)
    local last = first and key:find(tag:sub(2, 2), first + 1, true)
    return last and last > first + 1 and key:sub(first + 1, last - 1) or key
end

function M.run(context, parsed)
    local ring = M.ring_of(parsed)
    local cells, placed = {}, {}
    for i, key in ipairs(parsed.keys) do
        local names = gather.values(ring:servers(M.hashed_part(key, parsed.hash_tag), parsed.copies or 1), "name")
        cells[i], placed[i] = { key, table.concat(names, " ") }, { key = key, servers = names }
    end
    return context:answer("slate/fleet-where/1", { keys = placed }, function()
        context:out_table("KEY<|SERVER<", cells)
    end)
end

return M
