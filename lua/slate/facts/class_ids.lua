-- SPDX-License-Identifier: BSD-3-Clause
--- The class ids in changes on record. slated gives an id to other chunk sizes when these change: so an entry has the
-- chunk size of each id in it, and an undo aims at the classes that have these sizes now. Pure.
--
-- Classes are a list of { id, chunk_size }, an entry is one of slate.facts.audit.
local gather = require "slate.base.gather"

local M = {}

local POLICIES <const> = { class_policy = true, policy = true } -- "slru 34", "s3fifo 5=sieve,34=slru"

-- The text in which an entry has class ids; nil: it has none.
local function text_of(entry)
    return entry.what == "move" and ("%d %d"):format(entry.src, entry.dst)
        or POLICIES[entry.name] and entry.was .. " " .. entry.is or nil
end

--- True if an entry, or a change of a setting, may have class ids.
function M.has(entry)
    return text_of(entry) ~= nil and text_of(entry):find("%f[%w_]%d+%f[^%w_]") ~= nil
end

--- The chunk sizes of the ids in an entry, as it has them on record: "5=240 34=8960"; nil without ids.
function M.chunk_sizes(entry, classes)
    local parts, sizes = {}, {}
    for _, class in ipairs(classes) do
        sizes[class.id] = class.chunk_size
    end
    for number in (text_of(entry) or ""):gmatch("%f[%w_]%d+%f[^%w_]") do
        local id = math.tointeger(tonumber(number))
        parts[#parts + 1], sizes[id] = sizes[id] and ("%d=%d"):format(id, sizes[id]) or nil, nil
    end
    return #parts > 0 and table.concat(parts, " ") or nil
end

-- By each id on record, as text: the id that has its chunk size now, false if none has it; and whether neither the id
-- nor the size is in a list of classes with pages: then the id stays.
local function ids_now(entry, classes, is_whole)
    local of_size, size_of, ids, unlisted = {}, {}, {}, {}
    for _, class in ipairs(classes) do
        of_size[class.chunk_size or 0], size_of[class.id] = class.id, class.chunk_size
    end
    for number, text in entry.chunk_sizes:gmatch("(%d+)=(%d+)") do
        local id, size = math.tointeger(tonumber(number)), tonumber(text)
        unlisted[number] = not is_whole and not size_of[id] and not of_size[size]
        ids[number] = (size_of[id] == size or unlisted[number]) and id or of_size[size] or false
    end
    return ids, unlisted
end

-- The policies of a text with the ids of now; a class that is gone has none.
local function policies_now(text, ids)
    text = text:gsub("(%d+)=([%w_]+),?", function(id, policy)
        return ids[id] == false and "" or ("%s=%s,"):format(ids[id] or id, policy)
    end)
    return (text:gsub("[ ,]+$", ""))
end

local function with_ids(entry, ids)
    local copy = gather.copy(entry)
    for _, name in ipairs({ "src", "dst" }) do
        copy[name] = copy[name] and (ids[tostring(copy[name])] or copy[name])
    end
    for _, name in ipairs({ "was", "is", "back" }) do
        copy[name] = copy[name] and (entry.name == "policy" and policies_now(tostring(copy[name]), ids)
            or tostring(copy[name]):gsub("%d+$", ids))
    end
    return copy
end

--- An entry with the ids of now, and words on those that changed, "" if none did; or nil and a message: its class is
-- gone. An entry without sizes is as it is. is_whole: the list has all classes; else those with pages.
function M.of_now(entry, classes, is_whole)
    if type(entry.chunk_sizes) ~= "string" or not text_of(entry) then
        return entry, ""
    end
    local ids, unlisted = ids_now(entry, classes, is_whole)
    local words = {}
    for id, size in entry.chunk_sizes:gmatch("(%d+)=(%d+)") do
        if ids[id] == false and entry.name ~= "policy" then
            return nil, ("class %s had chunks of %s B, and no class%s has such chunks now"):format(id, size,
                is_whole and "" or " with pages")
        elseif ids[id] ~= math.tointeger(tonumber(id)) then
            words[#words + 1] = ids[id] and ("; class %s of then is class %d now"):format(id, ids[id])
                or ("; class %s of then, of %s B, is gone"):format(id, size)
        elseif unlisted[id] then
            words[#words + 1] = ("; class %s has no pages now: sending it looks for the one of %s B"):format(id, size)
        end
    end
    return #words > 0 and with_ids(entry, ids) or entry, table.concat(words)
end

return M
