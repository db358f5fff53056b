-- SPDX-License-Identifier: BSD-3-Clause
--- How slatectl looks up names, by the system, and reads files of servers. slatetop has its own functions for the same
-- readers, slate.wire.lists and slate.wire.names.
local gather = require "slate.base.gather"

local M = {}

local ENOENT <const>, ENOTDIR <const> = 2, 20

-- At most most_bytes of a file; or nil, a message, and true if the file does not exist.
local function read_file(path, most_bytes)
    local text, problem, number = require("slate.base.input").read(path, most_bytes)
    if not text then
        problem = problem:gsub("^.*: ", "") -- without the path
        return nil, problem, number == ENOENT or number == ENOTDIR
    end
    return text
end

-- The texts of a host's addresses, from the system; or nil and a message.
local function addresses(host)
    local list, problem = require("socket.core").dns.getaddrinfo(host)
    local texts = gather.values(list or {}, "addr")
    return list and texts, problem
end

--- The functions that slate.wire.lists and slate.wire.names need from a program.
M.WAYS = { environment = os.getenv, read_file = read_file, addresses = addresses }

return M
