-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl load FILE: stores the items of a file, which save wrote, in a server.
local items_file = require "slate.wire.items_file"
local load_items = require "slate.act.load_items"
local must = require("slate.base.failure").must
local pace = require "slate.act.pace"
local packed = require "slate.base.packed"
local progress = require "slate.cli.progress"
local units = require "slate.base.units"

local M = {}

function M.declare(command)
    command:argument("file", "A file that save wrote, packed or not; -: standard input."):argname("FILE")
    command:flag("--overwrite", "Replace what the server has already. Without it the server's own items stay.")
    progress.declare_pace(command)
end

--- The number of items that a server has evicted; or nil, message, code.
function M.evictions(client)
    local figures, message, code = require("slate.facts.stats").read(client)
    return figures and (figures.evictions or 0), message, code
end

local function summary(tally, items, value_bytes)
    local of = ("%s of values"):format(units.bytes_in_words(value_bytes))
    local words = { tally.stored == items and ("stored %s with %s"):format(units.plural(items, "item"), of)
        or ("stored %s of %s that were read, with %s"):format(units.count(tally.stored), units.count(items), of) }
    local function add(count, text)
        if count > 0 then
            words[#words + 1] = units.count(count) .. " " .. text
        end
    end
    add(tally.kept, "were there already and stay")
    add(tally.expired, "have expired since")
    add(tally.refused, "were refused")
    add(tally.evicted, "evicted meanwhile: the server holds less than the file")
    return table.concat(words, "; ")
end

local function store_all(context, parsed, client, reader, tally)
    local before = must(M.evictions(client))
    local work = pace.new(parsed.pace or pace.SHARE)
    local print_progress = progress.new(context, function()
        return ("%s read"):format(units.plural(reader.items, "item"))
    end)
    local ok, message, code = load_items.store(client, reader, tally, { overwrite = parsed.overwrite }, function()
        print_progress()
        work:pause()
    end)
    local after = ok and M.evictions(client)
    tally.evicted = after and math.max(after - before, 0) or 0
    return ok, message, code
end

local function report(context, parsed, reader, tally)
    context:answer("slate/load/1", {
        server = context.server.name, file = parsed.file, items = reader.items, value_bytes = reader.value_bytes,
        stored = tally.stored, kept = tally.kept, expired = tally.expired, refused = tally.refused,
        evicted = tally.evicted,
    }, function() context:print_note(summary(tally, reader.items, reader.value_bytes)) end)
end

-- The largest value that the server accepts; nil if the server reports no limit.
local function most_bytes_of(client)
    local lines = client:stats("settings")
    local most = lines and require("slate.facts.stats").settings(lines).item_size_max
    return math.type(most) == "integer" and most or nil
end

function M.run(context, parsed)
    local handle = must(packed.open(parsed.file))
    local client = must(context:open())
    local reader, message, code = items_file.reader(handle, parsed.file == "-" and "standard input" or parsed.file,
        most_bytes_of(client))
    if not reader then
        local hint = parsed.file == "-" and "; is it packed? Then it needs zcat or zstdcat before" or ""
        return nil, message .. hint, code
    end
    local tally = { stored = 0, kept = 0, expired = 0, refused = 0, evicted = 0 }
    local ok
    ok, message, code = store_all(context, parsed, client, reader, tally)
    client:close()
    handle:close()
    if ok or reader.items > 0 then
        report(context, parsed, reader, tally)
    end
    if not ok then
        return nil, message, code
    elseif tally.refused > 0 then
        return nil, ("%s refused; the first: %s"):format(units.plural(tally.refused, "item was", "items were"),
            tally.refusal), "no"
    end
    return 0
end

return M
