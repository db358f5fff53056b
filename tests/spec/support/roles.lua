-- SPDX-License-Identifier: BSD-3-Clause
--- The role that each command needs: a claim for every command, verb and opcode in slated's tables.
local server = require "support.server"

local M = {}

--- Lines of the text and meta protocols, with their values, and the role that each needs.
M.COMMANDS = {
    { "get a", "read" }, { "gets a b", "read" }, { "mg a v t", "read" }, { "me a", "read" }, { "mn", "read" },
    { "version", "read" }, { "stats", "read" }, { "stats slabs", "read" }, { "stats settings", "read" },
    { "stats describe", "read" }, { "config get maxbytes", "read" },
    { "set a 0 0 2\r\nab", "write" }, { "add a 0 0 2\r\nab", "write" }, { "replace a 0 0 2\r\nab", "write" },
    { "append a 0 0 2\r\nab", "write" }, { "prepend a 0 0 2\r\nab", "write" }, { "cas a 0 0 2 1\r\nab", "write" },
    { "set a 0 0 9000\r\n" .. ("x"):rep(9000), "write" }, { "delete a", "write" }, { "incr a 1", "write" },
    { "decr a 1", "write" }, { "touch a 0", "write" }, { "gat 0 a b", "write" }, { "gats 0 a", "write" },
    { "ms a 2\r\nab", "write" }, { "ms a 9000 q\r\n" .. ("x"):rep(9000), "write" }, { "md a", "write" },
    { "ma a", "write" }, { "mg a v T30", "write" }, { "mg a N30", "write" }, { "mg a s R30", "write" },
    { "stats reset", "admin" }, { "stats detail on", "admin" }, { "stats cachedump 1 1", "admin" },
    { "stats hotkeys", "admin" },
    { "stats d off", "admin" }, { "verbosity 0", "admin" }, { "flush_all 1000", "admin" }, { "shutdown", "admin" },
    { "cache_memlimit 64", "admin" }, { "slabs automove 1", "admin" }, { "slabs reassign 1 2", "admin" },
    { "slabs geometry dry", "admin" }, { "lru tune 20 40 0.2 2", "admin" }, { "evict policy s3fifo", "admin" },
    { "lru_crawler metadump all", "admin" }, { "lru_crawler crawl all", "admin" },
    { "config set verbosity 1", "admin" }, { "config undo", "admin" }, { "config", "admin" },
    { "extstore free_memchunks 1 1", "admin" },
    { "watch nonsense", "admin" }, { "refresh_certs", "admin" }, { "refresh_auth", "admin" },
}

--- Packets of the binary protocol in the words of support.binary, and the role that each needs.
M.PACKETS = {}
for role, list in pairs({
    read = "00 09 0a 0b 0c 0d 10 20 21 22 10:key=settings",
    write = "01 02 03 04 05 06 0e 0f 11 12 13 14 15 16 19 1a 1c 1d 1e 23 24",
    admin = "08 18 10:key=reset 10:key=detail\\x20on 10:key=cachedump\\x201\\x201",
}) do
    local extras = { ["01"] = 8, ["02"] = 8, ["03"] = 8, ["11"] = 8, ["12"] = 8, ["13"] = 8, ["05"] = 20, ["06"] = 20,
        ["15"] = 20, ["16"] = 20, ["1c"] = 4, ["1d"] = 4, ["1e"] = 4, ["23"] = 4, ["24"] = 4 }
    local without_key = { ["08"] = true, ["18"] = true, ["0a"] = true, ["0b"] = true, ["10"] = true, ["20"] = true }
    local with_value = { ["01"] = true, ["02"] = true, ["03"] = true, ["11"] = true, ["12"] = true, ["13"] = true,
        ["0e"] = true, ["0f"] = true, ["19"] = true, ["1a"] = true }
    for word in list:gmatch("%S+") do
        local opcode, rest = word:match("^(%x%x):?(.*)$")
        local words = { opcode, rest ~= "" and rest or not without_key[opcode] and "key=k" or nil }
        words[#words + 1] = extras[opcode] and "extras=" .. ("00"):rep(extras[opcode])
        words[#words + 1] = with_value[opcode] and "value=abc" or nil
        M.PACKETS[#M.PACKETS + 1] = { table.concat(words, " "), role }
    end
end
table.sort(M.PACKETS, function(a, b) return a[1] < b[1] end)

local RANK <const> = { read = 1, write = 2, admin = 3 }

--- Whether a role includes the role `needed`.
function M.may(role, needed) return RANK[role] >= RANK[needed] end

--- The commands of slated's table, and the second words that need another role: { stats = { "reset", … }, … }.
function M.table_of_commands()
    local source = server.read_file("daemon/server/command_table.c"):gsub("#ifdef SLATE_DEBUG.-#endif", "")
    local found = {}
    for name, row in source:gmatch('\n    {"([%l_]+)", %l+, %l+, ROLE_(.-)}},') do
        found[name] = {}
        for word in row:gmatch('"([%l_]+)"') do table.insert(found[name], word) end
    end
    return found
end

--- The verbs of the text and meta protocols.
function M.verbs()
    local no_command = { command = true, reply = true, close = true }
    local found = {}
    for verb in server.read_file("daemon/protocol/request.h"):gmatch("\n    VERB_(%u+),") do
        if not no_command[verb:lower()] then
            found[#found + 1] = verb:lower()
        end
    end
    return found
end

--- The opcodes of the binary protocol: { ["00"] = "GET", … }.
function M.opcodes()
    local found = {}
    local list = server.read_file("daemon/protocol/binary.h"):match("enum binary_opcode {(.-)}")
    for name, opcode in list:gmatch("BINARY_([%u_]+) = 0x(%x%x),") do found[opcode] = name end
    return found
end

return M
