-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl fleet up N: a fleet of slated behind nutcracker on this machine, for trying out.
local fleet = require "slate.fleet.local_fleet"
local must = require("slate.base.failure").must
local units = require "slate.base.units"

local M = {}

local function whole(least, most)
    return function(text)
        return units.parse_whole(text, least, most)
    end
end

local function parse_weights(text)
    local weights = {}
    for word in (text .. ","):gmatch("([^,]*),") do
        local weight, message = units.parse_whole(word, 1, require("slate.fleet.ring").MAX_WEIGHT)
        if not weight then
            return nil, message
        end
        weights[#weights + 1] = weight
    end
    return weights
end

function M.declare(command)
    command:argument("servers", ("How many servers, 1 to %d."):format(fleet.MAX_SERVERS)):argname("N")
        :convert(whole(1, fleet.MAX_SERVERS))
    command:option("--weights", "A weight for each server, such as 1,1,3. Default: 1 each"):argname("LIST")
        :convert(parse_weights)
    command:option("--memory", "Megabytes for each server. Default: 64"):argname("MB"):convert(whole(1, 1 << 20))
    command:option("--port", "nutcracker's port; the servers get the ports after it. Default: free ports")
        :argname("PORT"):convert(whole(1, 65535 - fleet.MAX_SERVERS))
    command:option("--program", "The server to start, such as memcached. Default: slated"):argname("PATH")
    command:option("--folder", "The folder for the fleet's files, an absolute path. Default: one for each user")
        :argname("PATH")
    command:flag("--no-proxy", "Start no nutcracker.")
end

--- The folder from the command line. Returns it, or nil, message, "usage".
function M.folder_of(parsed)
    local folder = parsed.folder or fleet.default_folder(os.getenv)
    if folder:sub(1, 1) ~= "/" then
        return nil, "--folder takes an absolute path", "usage"
    end
    return (folder:gsub("/+$", ""))
end

local function out_text(context, processes, folder, given_folder)
    -- The commands to come would look elsewhere without it.
    local option = given_folder and " --folder " .. require("slate.base.shell").word(folder) or ""
    local cells, addresses, proxy = {}, {}, nil
    for i, one in ipairs(processes) do
        cells[i] = { one.name, one.address, tostring(one.weight or "-"), tostring(one.pid) }
        if one.weight then
            addresses[#addresses + 1] = one.address
        else
            proxy = one.address
        end
    end
    context:out_table("NAME<|ADDRESS<|WEIGHT|PID", cells)
    if proxy then
        context:out("Clients talk to ", proxy, ", or to the members by ketama with MD5 over ", folder, "/servers.\n")
    end
    context:out("All servers at once:  slatectl fleet ", table.concat(addresses, " "), "\n",
        "The server of a key:  slatectl fleet where KEY", option, "\n",
        "To end the fleet:     slatectl fleet down", option, "\n")
end

--- Exits with 0 when all of it is up.
function M.run(context, parsed)
    local folder = must(M.folder_of(parsed))
    if parsed.weights and #parsed.weights ~= parsed.servers then
        return nil, ("%s for %s: one each is needed"):format(units.plural(#parsed.weights, "weight"),
            units.plural(parsed.servers, "server")), "usage"
    end
    local processes = must(fleet.up(folder, parsed.servers, {
        program = parsed.program or context.bin_dir .. "/slated", memory_mb = parsed.memory or 64,
        weights = parsed.weights, port = parsed.port, no_proxy = parsed.no_proxy,
    }))
    if context.json then
        context:out_json("slate/fleet-up/1", { folder = folder, processes = processes })
    else
        out_text(context, processes, folder, parsed.folder)
    end
    return 0
end

return M
