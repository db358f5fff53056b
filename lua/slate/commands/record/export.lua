-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl export prometheus|openmetrics: the statistics as metrics, once, or for each scrape.
local families = require "slate.cli.families"
local find = require "slate.base.find"
local prometheus = require "slate.cli.prometheus"
local units = require "slate.base.units"

local M = {}

local LOOPBACK <const>, PORT <const> = "127.0.0.1", 9150 -- memcached_exporter's port
local METRICS <const>, SCRAPE <const> = "/metrics", "/scrape"
local MOST_OBSERVED <const> = 256 -- servers whose classes are judged from scrape to scrape

function M.declare(command)
    command:argument("format", "prometheus or openmetrics."):argname("FORMAT"):choices({ "prometheus", "openmetrics" })
    command:option("--listen", ("Serve /metrics, and /scrape?target=SERVER, on this address: HOST, HOST:PORT or :PORT, "
        .. "which is on loopback; port 0: any free one. Default: %s:%d"):format(LOOPBACK, PORT)):args("?")
        :argname("ADDRESS"):convert(function(text) return require("slate.wire.addresses").parse_listen(text, PORT) end)
    command:option("--classes", "Which classes: all, none, or N, those with most pages. Default: all"):argname("WHICH")
        :convert(function(text)
            if text == "all" or text == "none" then
                return text
            end
            return units.parse_whole(text, 1, 255)
        end)
    command:option("--hotkeys", "Also the N keys with most requests (slated); the key is a label.")
        :argname("N"):convert(units.whole(1, 128))
end

-- Reads the figures that only a slated reports.
local function query_slated(client, parsed, options)
    local sampled = require "slate.facts.sampled"
    options.descriptions = prometheus.descriptions(client:stats("describe") or nil)
    options.moves = require("slate.facts.moves").read(client) or nil
    options.process = require("slate.facts.stats").read(client, "memory") or nil
    options.curve = sampled.curve(client) or nil
    local totals, policies = sampled.whatif(client)
    options.policy, options.policies = totals and totals.policy, totals and policies or nil
    if parsed.hotkeys then
        local hotkeys = require "slate.facts.hotkeys"
        local hot = hotkeys.read(client)
        if hot then
            hotkeys.sort(hot.keys, "requests", parsed.hotkeys)
            options.hotkeys = hot.keys
        end
    end
end

local function forget_oldest(observed)
    local oldest, oldest_s = nil, math.huge
    for name, observer in pairs(observed.by_name) do
        if observer.now.time_s < oldest_s then
            oldest, oldest_s = name, observer.now.time_s
        end
    end
    observed.by_name[oldest], observed.count = nil, observed.count - 1
end

-- The classes, from an observer of this server's scrapes; nil without further scrapes. At the limit, a server that only
-- scrapers name replaces another such server, but none of the command line's.
local function observe(observers, server, now)
    if not observers then
        return nil
    end
    local observed = server.is_of_scraper and observers.of_scrapers or observers.own
    local observer = observed.by_name[now.server]
    if not observer then
        if observed.count == MOST_OBSERVED and not server.is_of_scraper then
            return nil
        elseif observed.count == MOST_OBSERVED then
            forget_oldest(observed)
        end
        observer = require("slate.judge.view").observer()
        observed.by_name[now.server], observed.count = observer, observed.count + 1
    end
    if not observer.now or now.time_s > observer.now.time_s then -- two scrapes at once may end in another order
        observer:observe(now)
    end
    return observer.rows
end

-- Queries the server of a client for all its figures. Returns a snapshot and the options of prometheus.add; or nil,
-- message, code.
local function query(client, parsed, server, observers)
    local who, message, code = client:identify()
    if not who then
        return nil, message, code
    end
    local now
    now, message, code = require("slate.facts.snapshot").take(client,
        { server = server.name, slated = who.slated, settings = true })
    if not now then
        return nil, message, code
    end
    local options = { classes = parsed.classes, rows = observe(observers, server, now) }
    if options.classes == "none" then
        options.classes = 0
    elseif options.classes == "all" then
        options.classes = nil
    end
    if who.slated then
        query_slated(client, parsed, options)
    end
    return now, options
end

-- One scrape of a server over a connection of its own. Returns the results of `query`.
local function scrape(client, message, code, ...)
    if not client then
        return nil, message, code
    end
    local now
    now, message, code = query(client, ...)
    client:close()
    return now, message, code
end

-- Adds the result of `scrape` for a server. A failure goes to `print_note`, and is returned: message and code. A server
-- that was not reached for want of descriptors here does not count as down.
local function add(into, print_note, now, options, code)
    if now then
        prometheus.add(into, now, options)
        return nil
    end
    print_note(options)
    if code ~= "exhausted" then
        prometheus.add_down(into)
    end
    return { options, code }
end

-- Scrapes all servers of the command line at once: silent ones cost one time-out together. Returns the first failure.
local function scrape_all(context, parsed, into, observers, print_note)
    local servers, failed = context.servers, nil
    local results = require("slate.wire.together").each(servers, function(server)
        local client, message, code = context:connect(server)
        return scrape(client, message, code, parsed, server, observers)
    end)
    for i, server in ipairs(servers) do
        into.common = #servers > 1 and { { "server", server.name } } or {}
        local problem = add(into, print_note, table.unpack(results[i], 1, 3))
        failed = failed or problem
    end
    return failed
end

-- Connects to a server that a scraper names. A server of the command line keeps its options there. For another server,
-- no login is sent and no file opened.
local function connect_target(context, target)
    local _, known = find.by(context.servers, "name", target)
    if known then
        return known, context:connect(known)
    end
    local server, problem = units.parse_server(target)
    if not server or server.path then
        return nil, problem or "a target is HOST:PORT, or a server that the exporter was started with"
    end
    local options, message = require("slate.wire.access").options(function(name)
        return name:find("^SLATE_TLS_CA") and os.getenv(name) or nil
    end)
    if not options then
        return nil, message
    end
    options.timeout_s, options.read_only = context.timeout_s, true
    server.is_of_scraper = true
    return server, require("slate.wire.client").connect(server, options)
end

-- The web server's answer to a request: status, kind, body.
local function answer(context, parsed, observers, request)
    local format = request.accept:find("application/openmetrics-text", 1, true) and "openmetrics" or "prometheus"
    local into = families.new()
    local function print_note(message)
        context:print_note(message)
    end
    if request.path == METRICS then
        context:renew_servers()
        scrape_all(context, parsed, into, observers, print_note)
    elseif request.path == SCRAPE then
        local target = request.query.target
        if not target or target == "" then
            return 400, "text/plain", "a target is wanted: /scrape?target=HOST:PORT\n"
        end
        local server, client, message, code = connect_target(context, target)
        if not server then
            return 400, "text/plain", require("slate.base.table").for_terminal(client) .. "\n"
        end
        add(into, print_note, scrape(client, message, code, parsed, server, observers))
    else
        return 404, "text/plain", "/metrics and /scrape?target=HOST:PORT are served\n"
    end
    return 200, families.KINDS[format], into:text(format)
end

local function serve(context, parsed)
    local httpd = require "slate.cli.httpd"
    local at = parsed.listen[1] or { host = LOOPBACK, port = PORT }
    local socket, port = httpd.listen(at.host, at.port)
    if not socket then
        return nil, port, "connect"
    end
    local host = at.host:find(":", 1, true) and "[" .. at.host .. "]" or at.host
    context:print_note(("serving http://%s:%d%s"):format(host, port, METRICS))
    local observers = { own = { by_name = {}, count = 0 }, of_scrapers = { by_name = {}, count = 0 } }
    httpd.run(socket, function(request) return answer(context, parsed, observers, request) end,
        function(message) context:print_note(message) end)
    return 0
end

function M.run(context, parsed)
    if context.json then
        return nil, "export writes the format that it is named after: it takes no --json, --jsonl or --csv", "usage"
    elseif parsed.listen then
        return serve(context, parsed)
    end
    local into = families.new()
    local many = #context.servers > 1
    local failed = scrape_all(context, parsed, into, nil, function(message)
        if many then
            context:print_note(message)
        end
    end)
    if failed and not many then
        return nil, table.unpack(failed)
    end
    context:out(into:text(parsed.format))
    return failed and 1 or 0
end

return M
