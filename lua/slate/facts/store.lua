-- SPDX-License-Identifier: BSD-3-Clause
--- Checks for classes of chunk sizes, whose pages can move: only the store slab of slated has them. Pure.
local M = {}

--- Checks if a server has such classes. who: of Client:identify; what: the subject of the refusal, in the plural.
-- Returns true; or nil, message, code.
function M.needs_slab(who, what)
    if not who.store or who.store == "slab" then
        return true
    end
    return nil, ("%s need --store=slab; this server has %s"):format(what, who.store), "unsupported"
end

return M
