-- SPDX-License-Identifier: BSD-3-Clause
--- Documents as rows: lines of JSON, or comma-separated values with fixed columns.
--
-- A document has a schema. TABLES has the field with its list of rows, and the columns of a row, in the order of the
-- CSV. A document without such a list is a row by itself. slate-json(7) has the same columns, and a spec compares them.
local columns = require("slate.base.gather").words
local gather = require "slate.base.gather"

local M = {}

local HEAD <const> = { "server", "time_s" }

local CLASS <const> = "id chunk_bytes pages pages_delta used_ratio free_pages items get_hits_per_s set_per_s "
    .. "evicted_per_s out_of_memory_per_s age_s slack_ratio flags"

-- Both lists of a curve: the points of the LRU model, then those of the cache's own policy.
local function curve_rows(curve)
    local list = gather.values(curve.points, function(point)
        return { policy = "lru", memory_bytes = point[1], hit_ratio = point[2], least = point[3],
            most = point[4] }
    end)
    for _, size in ipairs(curve.sizes) do
        list[#list + 1] = { policy = "own", memory_bytes = math.floor(size[1] * curve.bytes), hit_ratio = size[2],
            least = size[3], most = size[4] } -- null where it is not known
    end
    return list
end

-- list: the field with the rows; pairs: a field with values by name, each pair a row; rows: a function that makes rows
-- of the document; head: fields of the document that begin each row.
local TABLES <const> = {
    ["slate/top/1"] = { columns = columns("version interval_s reset uptime_s connections items used_bytes limit_bytes "
        .. "used_ratio free_pool_pages get_per_s set_per_s hit_ratio hit_ratio_total evictions_per_s item_loss_per_s "
        .. "out_of_memory_per_s pages_moved pages_moved_per_s received_bytes_per_s sent_bytes_per_s cpu_ratio "
        .. "automove") },
    ["slate/classes/1"] = { list = "classes", columns = columns(CLASS) },
    ["slate/stats/1"] = { pairs = "stats", columns = { "name", "value" } },
    ["slate/settings/1"] = { pairs = "settings", columns = { "name", "value" }, head = { "server" } },
    ["slate/pages/1"] = { list = "pages", columns = columns("class page used_ratio age_s") },
    ["slate/items/1"] = { list = "classes", columns = columns("id items hot warm cold temp requested_bytes age_s "
        .. "evicted evicted_unread evicted_age_s expired_unread reclaimed out_of_memory") },
    ["slate/sizes/1"] = { list = "sizes", columns = columns("bytes items class chunk_bytes") },
    ["slate/fit/1"] = { list = "values", columns = columns("value_bytes item_bytes fits class chunk_bytes waste_bytes "
        .. "waste_ratio pages items evicted_per_s age_s flags") },
    ["slate/conns/1"] = { list = "connections", columns = columns("id address listen_address state idle_s") },
    ["slate/event/1"] = { columns = columns("type key class size_bytes status command fetched ttl_s last_access_s "
        .. "address transport reason src dst state") },
    ["slate/key/1"] = { columns = columns("key class size_bytes expires_s idle_s fetched") },
    ["slate/get/1"] = { columns = columns("key bytes flags cas value value_base64"), head = { "server" } },
    ["slate/item/1"] = { columns = columns("key class size_bytes expires_in_s idle_s fetched cas"),
        head = { "server" } },
    ["slate/keys/1"] = { list = "prefixes", columns = columns("prefix items bytes unread expiring oldest_idle_s") },
    ["slate/fleet/1"] = { list = "servers", columns = columns("server version slated why uptime_s items used_ratio "
        .. "hit_ratio get_per_s set_per_s evictions_per_s item_loss_per_s out_of_memory_per_s age_spread badness "
        .. "notes"), head = { "time_s" } },
    ["slate/waste/1"] = { list = "classes", columns = columns("id chunk_bytes pages page_bytes used_bytes "
        .. "requested_bytes slack_bytes tail_bytes free_bytes waste_ratio") },
    ["slate/check/1"] = { list = "servers", columns = columns("server state words"), head = { "time_s" } },
    ["slate/doctor/1"] = { list = "findings", columns = columns("severity what todo term") },
    ["slate/automove/1"] = { columns = columns("mode name ratio window_s free_ratio reassign pages_moved "
        .. "free_pool_pages"), head = { "server" } },
    ["slate/geometry/1"] = { list = "classes", columns = columns("id chunk_size class_state total_pages"),
        head = { "server" } },
    ["slate/extstore/1"] = { list = "buckets", columns = columns("name pages pages_free used_bytes fill_ratio "
        .. "sparse_pages") },
    ["slate/moves/1"] = { list = "moves", columns = columns("number time_s mode from to pages wanted rescued lost "
        .. "expired duration_us outcome reason"), head = { "server" } },
    ["slate/policy-simulation/1"] = { list = "rows", columns = columns("name memory_bytes held_bytes pages lost "
        .. "hits requests hit_ratio evicted"), head = { "trace" } },
    ["slate/hotkeys/1"] = { list = "keys", columns = columns("key requests error doubt bytes bytes_error "
        .. "bytes_doubt") },
    ["slate/help/1"] = { list = "commands", columns = { "name", "summary" }, head = {} },
    ["slate/curve/1"] = { rows = curve_rows, columns = columns("policy memory_bytes hit_ratio least most"),
        head = columns("server time_s class") },
    ["slate/whatif/1"] = { list = "policies", columns = columns("policy hit_ratio difference doubt reads") },
    ["slate/changes/1"] = { list = "changes", columns = columns("id time_s who server what name was is src dst pages "
        .. "undoes"), head = {} },
    ["slate/policies/1"] = { list = "policies", columns = { "name", "summary", "broken" }, head = {} },
    ["slate/policy-decision/1"] = { list = "moves", columns = columns("from to pages reason state outcome"),
        head = { "policy", "time_s" } },
    ["slate/simulations/1"] = { list = "rows", columns = columns("policy objects memory_bytes held_bytes requests hits "
        .. "hit_ratio miss_ratio items evictions refused seconds"), head = {} },
    ["slate/fleet-apply/1"] = { list = "servers", columns = columns("server state why"), head = { "fleet" } },
    ["slate/fleet-undo/1"] = { list = "changes", columns = columns("server id state words"), head = { "fleet" } },
    ["slate/fleet-warm/1"] = { list = "peers", columns = columns("server read stored kept elsewhere expired gone stale "
        .. "unaskable refused refusal missing why"), head = { "server", "evicted" } },
    ["slate/fleet-flush/1"] = { list = "servers", columns = columns("server state before after took_s why"),
        head = {} },
    ["slate/fleet-where/1"] = { list = "keys", columns = { "key", "servers" }, head = {} },
}

M.TABLES = TABLES

-- Quotes a field that has a separator. A list becomes words; an absent value is empty.
local function cell(value)
    if value == nil or value == require("slate.base.json").null then
        return ""
    elseif type(value) == "table" then
        value = table.concat(value, " ")
    elseif math.type(value) == "float" then
        value = (value ~= value or value == math.huge or value == -math.huge) and "" or ("%.14g"):format(value)
    end
    local text = tostring(value)
    if text:find('[",\r\n]') then
        text = '"' .. text:gsub('"', '""') .. '"'
    end
    return text
end

local function rows_of(document, form)
    if form.pairs then
        local values = document[form.pairs]
        return gather.values(gather.keys(values), function(name) return { name = name, value = values[name] } end)
    elseif form.rows then
        return form.rows(document)
    end
    return form.list and document[form.list] or { document }
end

--- A document as lines of CSV, after a line of column names if `with_heading`.
-- Raises { message, code = "usage" } for a document without rows.
function M.csv(document, with_heading)
    local form = TABLES[document.schema]
    if not form then
        error({ message = ("%s has no rows: use --json"):format(document.schema), code = "usage" }, 0)
    end
    local head = form.head or HEAD
    local lines = {}
    if with_heading then
        lines[1] = table.concat(table.move(form.columns, 1, #form.columns, #head + 1, { table.unpack(head) }), ",")
    end
    for _, row in ipairs(rows_of(document, form)) do
        local cells = gather.values(head, function(name) return cell(document[name]) end)
        for _, name in ipairs(form.columns) do
            cells[#cells + 1] = cell(row[name])
        end
        lines[#lines + 1] = table.concat(cells, ",")
    end
    return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

--- A document as lines of JSON, one for each row, each with the schema and the head's fields.
function M.jsonl(document, key_order)
    local encode = require("slate.base.json").encode
    local form = TABLES[document.schema]
    if not form or not (form.pairs or form.rows or document[form.list]) then
        return encode(document, key_order) .. "\n"
    end
    local lines = {}
    for i, row in ipairs(rows_of(document, form)) do
        local fields = { schema = document.schema }
        for _, name in ipairs(form.head or HEAD) do
            fields[name] = document[name]
        end
        lines[i] = encode(gather.copy(row, fields), key_order)
    end
    return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

return M
