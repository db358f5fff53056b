-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl report FILE...|SERVER... -o report.html: one page on the events at servers, from recordings or live.
local clock = require "slate.base.clock"
local examined = require "slate.cli.examined"
local gather = require "slate.base.gather"
local moments = require "slate.report.moments"
local must = require("slate.base.failure").must
local snapshot = require "slate.facts.snapshot"
local together = require "slate.wire.together"
local units = require "slate.base.units"

local M = {}

local LIVE_DURATION_S <const>, LEAST_INTERVAL_S <const> = 60, 0.01

function M.declare(command)
    command:argument("sources", "Recordings, or servers to sample; the servers of -s when there are none."):args("*")
        :argname("FILE|SERVER")
    command:option("-o --output", "The page to write. Default: standard output, if it is no terminal."):argname("FILE")
    command:option("--from", "Begin at this time (UTC): 14:05, 2026-11-25 14:05:30, or +5m from "
        .. "the beginning of the recording."):argname("TIME"):convert(moments.parse)
    command:option("--to", "End at this time."):argname("TIME"):convert(moments.parse)
    command:option("--for --duration", "How long to sample servers. Default: 60s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--interval", "Time between two samples of a server. Default: 1s"):argname("TIME")
        :convert(units.parse_duration)
    command:option("--title", "The heading of the page, such as the name of an incident."):argname("TEXT")
end

-- True for a recording: an existing path that is no socket, or a name in .json or .jsonl. Other words are servers.
local function is_file(name)
    local kind = require("slate.base.input").kind(name)
    return kind and kind ~= "socket" or name:find("%.jsonl?$") ~= nil
end

-- Snapshots in order of time by server: a list of lists, in order of the names.
local function by_server(all)
    local lists, at = {}, {}
    for _, one in ipairs(all) do
        local name = one.server or "unknown server"
        if not at[name] then
            at[name] = {}
            lists[#lists + 1] = at[name]
        end
        table.insert(at[name], one)
    end
    table.sort(lists, function(a, b) return (a[1].server or "") < (b[1].server or "") end)
    return lists
end

local function open(context, server)
    local client, who, code = context:meet(server)
    if not client then
        return { server = server, message = who, code = code }
    end
    return { server = server, client = client, who = who, list = {} }
end

local function sample(peer)
    if not peer.client then
        return
    end
    local one, message, code = snapshot.take(peer.client, { server = peer.server.name, slated = peer.who.slated,
        settings = true })
    if one then
        table.insert(peer.list, one)
    else
        peer.client, peer.message, peer.code = nil, message, code
    end
end

-- Reads the figures that are needed once, at the end.
local function query(context, peer)
    if not peer.client then
        return
    end
    peer.live = { now = peer.list[#peer.list] }
    examined.query(peer.client, function() return context:connect(peer.server) end, peer.live)
    peer.live.now = nil
    if peer.who.slated then -- memcached's own histogram may delay its clients
        peer.histogram = require("slate.facts.sizehist").read(peer.client, "sizehist")
    end
    peer.client:close()
end

-- Samples servers at the same time. A list of { server, list (snapshots), live, histogram, message, code }; or nil,
-- message, code if none answers.
local function watch(context, servers, duration_s, interval_s)
    local peers, any = {}, false
    for i, opened in ipairs(together.each(servers, function(server) return open(context, server) end)) do
        peers[i] = opened[1]
        any = any or peers[i].client ~= nil
    end
    if not any then
        return nil, peers[1].message, peers[1].code
    end
    local start_s, n = clock.steady_s(), 0
    local progress = require("slate.cli.progress").new(context, function()
        return ("%.0f s of %.0f s sampled"):format(clock.steady_s() - start_s, duration_s)
    end)
    repeat
        together.each(peers, sample)
        progress()
        n = n + 1
        clock.sleep(math.max(0, start_s + n * interval_s - clock.steady_s()))
    until clock.steady_s() > start_s + duration_s + 1e-6
    together.each(peers, sample)
    together.each(peers, function(peer) return query(context, peer) end)
    return peers
end

local function span_of(parsed, first_s)
    local from_s, to_s = parsed.from and parsed.from(first_s), parsed.to and parsed.to(first_s)
    if from_s and to_s and from_s >= to_s then
        return nil, nil, "--from is not before --to"
    end
    return from_s, to_s
end

-- sources: list of { list, live }. The stories of servers with snapshots in the span; or nil, message, code.
local function stories_of(context, parsed, sources)
    local entries = require("slate.facts.audit").read(require("slate.facts.audit").path())
    local own, first_s, stories, why = examined.own_of(context), math.huge, {}, nil
    for _, source in ipairs(sources) do
        first_s = math.min(first_s, source.list[1].time_s)
    end
    local from_s, to_s, problem = span_of(parsed, first_s)
    if problem then
        return nil, problem, "usage"
    end
    local function findings(known)
        return examined.findings(own, known)
    end
    for _, source in ipairs(sources) do
        local story, message = require("slate.report.story").of(source.list, { from_s = from_s, to_s = to_s,
            entries = entries, live = source.live, findings = findings })
        stories[#stories + 1], why = story, why or message
    end
    if #stories == 0 then
        return nil, why, "no"
    end
    return stories
end

local function from_files(context, parsed)
    local sources = {}
    for i, list in ipairs(by_server(must(context:recordings(parsed.sources)))) do
        sources[i] = { list = list }
    end
    return sources, { source = "from " .. table.concat(parsed.sources, ", ") }
end

local function from_servers(context, parsed)
    local lists = {}
    for i, text in ipairs(parsed.sources) do
        local list, problem = require("slate.wire.addresses").parse(text)
        if not list then
            return nil, problem, "usage"
        end
        lists[i] = list
    end
    local peers = must(watch(context, must(context:servers_of(lists)), parsed["for"] or LIVE_DURATION_S,
        math.max(parsed.interval or 1, LEAST_INTERVAL_S)))
    local sources, about = {}, { source = "sampled live", absent = {}, histograms = {} }
    for _, peer in ipairs(peers) do
        if peer.list and #peer.list > 0 then
            sources[#sources + 1] = peer
            about.histograms[peer.server.name] = peer.histogram
        end
        if peer.message then
            about.absent[#about.absent + 1] = { server = peer.server.name, why = peer.message }
        end
    end
    if #sources == 0 then
        return nil, peers[1].message, peers[1].code
    end
    return sources, about
end

-- The kind of the sources: recordings or servers, not both.
local function kind_of(sources)
    local files = gather.count(sources, is_file)
    if files > 0 and files < #sources then
        return nil, "a report is about recordings or about servers, not both"
    end
    return files > 0 and "files" or "servers"
end

local function check(context, parsed, kind)
    if kind == "files" and (parsed["for"] or parsed.interval) then
        return "--for and --interval are for servers: a recording has its own"
    elseif kind == "servers" and (parsed.from or parsed.to) then
        return "--from and --to are for recordings"
    elseif not parsed.output and (context.json or context:is_terminal(1)) then
        return "name the page to write: -o report.html"
    end
end

function M.run(context, parsed)
    local kind, message = kind_of(parsed.sources)
    message = message or check(context, parsed, kind)
    if message then
        return nil, message, "usage"
    end
    local sources, about = must((kind == "files" and from_files or from_servers)(context, parsed))
    local stories = must(stories_of(context, parsed, sources))
    about.title, about.made_s, about.version = parsed.title, clock.time_s(), context.version
    local page = require("slate.report.page").of(stories, about)
    if not parsed.output then
        context:out(page)
    else
        must(require("slate.base.files").save(parsed.output, page))
    end
    local findings = gather.sum(stories, function(story) return #story.findings end)
    if context.json then
        context:out_json("slate/report/1", { file = parsed.output, servers = #stories, findings = findings,
            bytes = #page })
    elseif parsed.output then
        context:print_note(("%s: %s of %s, %s"):format(parsed.output, units.plural(findings, "finding"),
            units.plural(#stories, "server"), units.bytes_in_words(#page)))
    end
    return 0
end

return M
