-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl geometry: shows or changes the chunk sizes of a live slated.
local geometry = require "slate.facts.geometry"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local POLL_S <const>, DEFAULT_LIMIT_S <const> = 0.2, 300
local MAX_SIZES <const>, MAX_CLASSES <const> = 254, 255

-- For each verb, a check of its value that returns the value's words, or nil and a description of valid values.
local VERBS <const> = {
    show = false, pause = false, resume = false, revert = false,
    factor = function(text)
        local factor = units.parse_decimal(text or "")
        if factor and factor >= 1.01 and factor <= 100 then
            return text
        end
        return nil, "geometry factor takes a number from 1.01 to 100"
    end,
    sizes = function(text)
        local count = 0
        for part in ((text or "") .. ","):gmatch("([^,]*),") do
            count = count + 1
            if not part:find("^%d+$") then
                return nil, "geometry sizes takes bytes with commas between them, such as 96,200,1000"
            end
        end
        if count > MAX_SIZES then
            return nil, ("geometry sizes takes at most %d sizes"):format(MAX_SIZES)
        end
        return text
    end,
    auto = function(text)
        if not text or units.parse_whole(text, 2, MAX_CLASSES) then
            return text or ""
        end
        return nil, ("geometry auto takes a number of classes from 2 to %d"):format(MAX_CLASSES)
    end,
}

-- The verbs with a predicted outcome.
local PREDICTED <const> = { factor = true, sizes = true, auto = true, revert = true }

function M.declare(command)
    command:argument("verb", "show, factor N, sizes BYTES,BYTES,..., auto [CLASSES], pause, resume or revert. "
        .. "Default: show"):args("?"):argname("VERB"):choices({ "show", "factor", "sizes", "auto", "pause", "resume",
        "revert" })
    command:argument("value", "The factor, the sizes, or how many classes at most."):args("?"):argname("VALUE")
    command:flag("--force", "Change the sizes even when that saves little.")
    command:flag("--dry-run", "Show what the change is predicted to bring, and change nothing.")
    command:flag("--wait", "Wait until the change is complete.")
    command:option("--limit", "Wait at most this long. Default: 5m"):argname("TIME"):convert(units.parse_duration)
end

-- The line to send; nil for show; or false, message.
local function line_of(parsed)
    local verb = parsed.verb or "show"
    local check = VERBS[verb]
    local value = ""
    if check then
        local message
        value, message = check(parsed.value)
        if not value then
            return false, message
        end
    elseif parsed.value then
        return false, ("geometry %s takes no value"):format(verb)
    end
    if verb == "show" then
        return nil
    end
    return ("slabs geometry %s%s%s"):format(verb, value ~= "" and " " .. value or "", parsed.force and " force" or "")
end

local function progress_of(change)
    return ("%s of %s; %s emptied, %s copied, %s dropped"):format(change.ranges_done,
        units.plural(change.ranges, "range"), units.plural(change.pages_drained, "page"),
        units.plural(change.items_copied + change.chunks_copied, "item"), change.items_dropped)
end

-- Prints the prediction first, without a table: the reader needs one sentence and the sizes.
local function out_dry_run(context, line, prediction, auto)
    local wrap = require("slate.base.table").wrap
    if prediction then
        local sentence, sizes = geometry.split_prediction(prediction)
        context:out(wrap("predicted: " .. sentence), "\n")
        context:out(sizes and wrap("sizes: " .. table.concat(sizes, ", ")) .. "\n" or "")
    end
    context:out(wrap("would send: " .. line), "\n", auto and wrap("also " .. auto) .. "\n" or "",
        "nothing was changed\n")
end

local function out_text(context, change, classes)
    local head = { { "state", ("%s: %s"):format(change.state, change.why) } }
    if change.generation > 0 then
        head[#head + 1] = { "progress", progress_of(change) }
        head[#head + 1] = { "waste", ("%.1f %% before, %.1f %% predicted, %.1f %% now"):format(change.waste_before,
            change.waste_predicted, change.waste_now) }
        head[#head + 1] = { "time", ("%.1f s"):format(change.seconds) }
    end
    if #classes > 0 then
        head[#head + 1] = { "classes", ("%.0f, and %.0f that are being emptied"):format(change.classes,
            change.classes_retired) }
    end
    local advice = geometry.advice(change)
    if change.auto == "yes" then
        head[#head + 1] = { "auto", "the sizes are fitted again when the sizes of items change" }
    elseif #classes > 0 then
        head[#head + 1] = { "auto", "off: slatectl set slab_geometry_auto yes" }
        head[#head + 1] = advice and { "advice", advice .. ": slatectl geometry auto" } or nil
    end
    context:out(context:pairs(head, true))
    if #classes == 0 then
        return
    end
    local rows = {}
    for _, class in ipairs(classes) do
        rows[#rows + 1] = { class.id, class.chunk_size, class.total_pages, class.class_state }
    end
    context:out("\n", context:table("CLASS|CHUNK|PAGES|STATE<", rows))
end

-- Waits until no change is under way. True; or nil, message, code.
local function await(client, limit_s)
    local clock = require "slate.base.clock"
    local until_s = clock.steady_s() + limit_s
    while true do
        local change = must(geometry.read(client))
        if change.state == "steady" then
            return true
        elseif change.state == "paused" then
            return nil, "the change is paused", "no"
        elseif clock.steady_s() > until_s then
            return nil, ("the change is still under way after %g s: %s"):format(limit_s, progress_of(change)), "no"
        end
        clock.sleep(POLL_S)
    end
end

local function carry_out(context, client, parsed, line)
    local ok, message, code
    if PREDICTED[parsed.verb] then
        ok, message, code = require("slate.act.steps").order(context, client, { kind = "geometry", line = line })
    else
        ok, message, code = geometry.order(client, line)
    end
    if ok and parsed.wait then
        ok, message, code = await(client, parsed.limit or DEFAULT_LIMIT_S)
    end
    return ok, message, code
end

function M.run(context, parsed)
    local line, wrong = line_of(parsed)
    if line == false then
        return nil, wrong, "usage"
    end
    local client = must(context:connect())
    local change, classes = must(geometry.read(client)) -- fails if the server does not know such orders
    local prediction
    if line and parsed.dry_run then
        prediction = PREDICTED[parsed.verb] and must(geometry.order(client, line .. " dry"))
    elseif line then
        must(carry_out(context, client, parsed, line))
        change, classes = must(geometry.read(client))
    end
    client:close()
    if context.json then
        local sentence, sizes
        if prediction then
            sentence, sizes = geometry.split_prediction(prediction)
        end
        context:out_json("slate/geometry/1", { server = context.server.name, command = line, dry_run = parsed.dry_run,
            predicted = sentence, sizes = sizes, change = change, classes = require("slate.base.json").array(classes) })
    elseif parsed.dry_run and line then
        out_dry_run(context, line, prediction, geometry.auto_words(parsed.verb, change.auto))
    else
        out_text(context, change, classes)
    end
    return 0
end

return M
