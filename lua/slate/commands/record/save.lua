-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl save FILE: the items of a server, with their times to live, in a file.
local clock = require "slate.base.clock"
local items_file = require "slate.wire.items_file"
local must = require("slate.base.failure").must
local pace = require "slate.act.pace"
local packed = require "slate.base.packed"
local progress = require "slate.cli.progress"
local save_items = require "slate.act.save_items"
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("file", "The file to write; .gz and .zst are packed; -: standard output."):argname("FILE")
    command:option("--prefix", "Only keys that begin with this."):argname("TEXT")
    progress.declare_pace(command)
end

local function summary(writer, tally)
    local left = {}
    if tally.gone > 0 then
        left[#left + 1] = units.count(tally.gone) .. " went meanwhile"
    end
    if tally.stale > 0 then
        left[#left + 1] = units.count(tally.stale) .. " stale left out"
    end
    if tally.unaskable > 0 then
        left[#left + 1] = units.count(tally.unaskable) .. " left out whose keys are too long in base64"
    end
    if tally.missing > 0 then
        left[#left + 1] = units.count(tally.missing) .. " may be missing: items moved between the server's queues "
            .. "while it listed its keys"
    end
    return ("%s, %s of values%s"):format(units.plural(writer.items, "item"), units.bytes_in_words(writer.value_bytes),
        #left > 0 and "; " .. table.concat(left, ", ") or "")
end

local function write_all(context, parsed, client, out, tally)
    -- The walk needs a connection of its own: the rest of a dump that ends early would come before the next reply.
    local spool <close>, count, missing = must(save_items.walk(must(context:connect()), parsed.prefix,
        context.who.slated ~= nil))
    tally.missing = missing
    local about = { server = context.server.name, time_s = math.floor(clock.time_s()) }
    local writer = must(items_file.writer(out, about))
    local work = pace.new(parsed.pace or pace.SHARE)
    local print_progress = progress.new(context, function()
        return ("%s of %s keys read"):format(units.count(tally.read), units.count(count))
    end)
    must(save_items.read(client, spool, tally, function(item) return writer:append(item) end, function()
        print_progress()
        work:pause()
    end))
    must(writer:finish())
    must(out:finish())
    return writer
end

function M.run(context, parsed)
    if parsed.file == "-" and context.json then
        return nil, "save - writes the items to standard output: it takes no --json", "usage"
    end
    local client = must(context:open()) -- before the file: without a server, no file
    local out <close> = must(packed.create(parsed.file))
    local tally = { gone = 0, stale = 0, unaskable = 0, read = 0 }
    local writer = write_all(context, parsed, client, out, tally)
    client:close()
    return context:answer("slate/save/1", {
        server = context.server.name, file = parsed.file, items = writer.items, value_bytes = writer.value_bytes,
        gone = tally.gone, missing = tally.missing, stale = tally.stale, unaskable = tally.unaskable,
    }, function() context:print_note(("saved %s"):format(summary(writer, tally))) end)
end

return M
