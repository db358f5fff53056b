-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet warm NEW --from PEERS: fills a cold server with the items of its peers.
local find = require "slate.base.find"
local load = require "slate.commands.record.load"
local load_items = require "slate.act.load_items"
local must = require("slate.base.failure").must
local pace = require "slate.act.pace"
local progress = require "slate.cli.progress"
local save_items = require "slate.act.save_items"
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    local where = require "slate.commands.fleet.fleet_where"
    command:argument("new", "The server to fill."):argname("NEW"):convert(units.parse_server)
    command:option("--from", "The servers to read from; may be given again."):argname("PEERS"):count("+")
        :convert(function(text) return require("slate.wire.addresses").parse(text) end)
    command:option("--servers", "A file with a line host:port:weight for each server of the fleet, NEW among them: "
        .. "store only the keys that NEW holds by the rule. Default: store all keys"):argname("FILE")
    where.declare_rule(command)
    command:option("--copies", "NEW holds a key when the rule names it among this many servers. Default: 1")
        :argname("N"):convert(units.whole(1))
    command:flag("--overwrite", "Replace what NEW has already. Without it NEW's own items stay.")
    progress.declare_pace(command)
end

-- A function that returns true if NEW holds an item by the rule of keys; or nil, message, code.
local function rule_of(parsed)
    if not parsed.servers then
        return function() return true end
    end
    local where = require "slate.commands.fleet.fleet_where"
    local ring = where.ring_of(parsed)
    local function names_new(servers)
        return find.by(servers, "name", parsed.new.name) ~= nil
    end
    if not names_new(ring.members) then
        return nil, ("%s has no line for %s"):format(parsed.servers, parsed.new.name), "input"
    end
    return function(item)
        local key = item.is_binary and require("mime").unb64(item.key) or item.key
        return names_new(ring:servers(where.hashed_part(key, parsed.hash_tag), parsed.copies or 1))
    end
end

-- The items of a peer that NEW should hold, in the order in which the peer would evict them: a reader for load_items.
-- If the peer fails, the items end, and row.why has the reason.
local function peer_reader(client, spool, row, is_held)
    return { next = coroutine.wrap(function()
        local ok, message = save_items.read(client, spool, row, function(item)
            if is_held(item) then
                coroutine.yield(item)
                return true
            end
            row.elsewhere = row.elsewhere + 1
            return save_items.drop(item)
        end, function() end)
        row.why = not ok and message or nil
        while true do
            coroutine.yield(false)
        end
    end) }
end

-- Copies the items of a peer to NEW. If the peer fails, row.why gets the reason. True, or nil, message, code if NEW
-- fails.
local function copy(peer, new, row, parsed, is_held)
    local client, message = peer:open()
    local walk = client and peer:connect()
    if not walk then
        row.why = message or "no second connection"
        return true
    end
    local spool, count, missing = save_items.walk(walk, nil, peer.who.slated ~= nil)
    if not spool then
        client:close()
        row.why = count
        return true
    end
    row.missing = missing
    local work = pace.new(parsed.pace or pace.SHARE)
    local print_progress = progress.new(peer, function()
        return ("%s of %s keys read"):format(units.count(row.read), units.count(count))
    end)
    local ok, code
    ok, message, code = load_items.store(new, peer_reader(client, spool, row, is_held), row,
        { overwrite = parsed.overwrite }, function()
            print_progress()
            work:pause()
        end)
    client:close()
    spool:close()
    return ok, message, code
end

local function out_text(context, rows, evicted)
    local cells = {}
    for i, row in ipairs(rows) do
        local notes = { row.why and "failed: " .. row.why, row.refusal, row.missing > 0
            and units.count(row.missing) .. " may be missing: items moved while the peer listed its keys" or nil }
        cells[i] = { row.server, units.count(row.read), units.count(row.stored), units.count(row.kept),
            units.count(row.elsewhere), units.count(row.expired + row.gone + row.stale + row.unaskable),
            units.count(row.refused), "" }
        for _, note in pairs(notes) do
            cells[i][8] = cells[i][8] .. (cells[i][8] ~= "" and "; " or "") .. note
        end
    end
    context:out_table("PEER<|READ|STORED|KEPT|ELSEWHERE|GONE|REFUSED|NOTE<", cells, function(i)
        return rows[i].why and "bad" or rows[i].refused > 0 and "warn" or nil
    end)
    if evicted > 0 then
        context:out(units.count(evicted), " evicted meanwhile: the server holds less than its peers have for it\n")
    end
end

--- Exits with 0; with 1 if a peer failed or NEW refused items.
function M.run(context, parsed)
    local is_held = must(rule_of(parsed))
    local peers = must(context:contexts_of(parsed.from))
    if #peers == 1 and peers[1].server.name == parsed.new.name then
        return nil, "--from names no server but " .. parsed.new.name .. " itself", "usage"
    end
    local new = must(context:of(parsed.new):open())
    local before = must(load.evictions(new))
    local rows, failed = {}, false
    for _, peer in ipairs(peers) do
        local row = { server = peer.server.name, read = 0, stored = 0, kept = 0, expired = 0, refused = 0,
            elsewhere = 0, gone = 0, stale = 0, unaskable = 0, missing = 0 }
        if row.server ~= parsed.new.name then -- skips NEW in a list of the whole fleet
            rows[#rows + 1] = row
            must(copy(peer, new, row, parsed, is_held))
            failed = failed or row.why ~= nil or row.refused > 0
        end
    end
    local evicted = math.max(must(load.evictions(new)) - before, 0)
    new:close()
    context:answer("slate/fleet-warm/1", { server = parsed.new.name, evicted = evicted, peers = rows }, function()
        out_text(context, rows, evicted)
    end)
    return failed and 1 or 0
end

return M
