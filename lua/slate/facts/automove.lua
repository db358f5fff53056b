-- SPDX-License-Identifier: BSD-3-Clause
--- The modes of automove: their names, numbers and effects. Pure.
local M = {}

--- In the order of listings. number: by which every server knows the mode; a mode without a number is slated's alone. A
-- name that ends with ":" is followed by the name of a policy.
M.MODES = {
    { name = "off", number = 0, words = "pages stay where they are" },
    { name = "ratio", number = 1, words = "a page a second at most, to the class whose items die youngest" },
    { name = "eviction", number = 2, words = "a page goes to a class at every eviction" },
    { name = "random", words = "a class in need gets any page of another class" },
    { name = "lra", words = "a class in need gets the page not accessed for longest" },
    { name = "lrc", words = "a class in need gets the page longest in its class" },
    { name = "utility", words = "pages go where they promise most hits" },
    { name = "lua:", words = "a policy in Lua decides" },
}

--- True if no page moves before a restart, by a mode or by hand: the server runs with slab_reassign off. now: a
--- snapshot, or nil.
function M.is_ruled_out(now)
    return (now and now.settings or {}).slab_reassign == false
end

--- A mode by its name or number, as a text or a number: { name, number (if it has one), words }; nil if there is none.
function M.of(word)
    word = word ~= nil and tostring(word)
    for _, mode in ipairs(word and M.MODES or {}) do
        if mode.name:sub(-1) == ":" and #word > #mode.name and word:sub(1, #mode.name) == mode.name then
            return { name = word, words = mode.words }
        elseif word == mode.name or mode.number and word == tostring(mode.number) then
            return mode
        end
    end
    return nil
end

--- The name of a mode; another word as it is.
function M.name_of(word)
    return (M.of(word) or { name = tostring(word) }).name
end

--- The mode as a server spells it, its name and its effect: "1 (ratio): a page ..."; "" if there is none.
function M.reported(word)
    local mode = M.of(word)
    if not mode then
        return word ~= nil and tostring(word) or ""
    end
    local spelled = tostring(word)
    return ("%s%s: %s"):format(spelled, mode.name ~= spelled and (" (%s)"):format(mode.name) or "", mode.words)
end

return M
