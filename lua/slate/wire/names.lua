-- SPDX-License-Identifier: BSD-3-Clause
--- Servers by names of one's own: lines "NAME = ADDRESS" in a file, which slatetop reads, too.
--
-- It is the file SLATE_SERVERS, else slate/servers under XDG_CONFIG_HOME, else under ~/.config. A name may stand for
-- several servers, with commas between. "#" begins a comment line.
local M = {}

M.MAX_BYTES = 64 * 1024

--- The path of the file; nil where there is no home.
function M.path(environment)
    environment = environment or os.getenv
    local folder = environment("XDG_CONFIG_HOME")
    if not folder or folder:sub(1, 1) ~= "/" then
        folder = environment("HOME") and environment("HOME") .. "/.config"
    end
    local named = environment("SLATE_SERVERS")
    return named ~= "" and named or folder and folder .. "/slate/servers"
end

--- Whether a word may be a name: an address has a colon or a slash.
function M.is_name(word)
    return word:find("^[%w][%w_.-]*$") ~= nil
end

--- Reads the text of such a file. Returns a table from each name to its addresses as they are written, and the names in
-- their order; or nil and a message.
function M.read(text, path)
    local addresses, order, number = {}, {}, 0
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        number = number + 1
        line = line:match("^%s*(.-)%s*$")
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

--- The servers of the usual file, as `read`; none when it is not there.
function M.load(environment)
    local path = M.path(environment)
    local file = path and io.open(path, "r")
    if not file then
        return {}, {}
    end
    local text, problem = file:read(M.MAX_BYTES + 1)
    file:close()
    if problem then -- a folder opens, and fails here
        return nil, ("cannot read %s: %s"):format(path, problem)
    elseif #(text or "") > M.MAX_BYTES then
        return nil, ("cannot read %s: more than 64 KiB"):format(path)
    end
    return M.read(text or "", path)
end

return M
