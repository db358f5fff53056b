-- SPDX-License-Identifier: BSD-3-Clause
--- Replies of servers of many ages and kinds, from public reports and from their sources. A counter is written
-- "name 5000+20": 5000 at first, and 20 more a second.
local M = {}

local function lines_of(text, prefix)
    local lines = {}
    for line in text:gmatch("[^\n;]+") do
        local words = line:match("^%s*(.-)%s*$")
        lines[#lines + 1] = words ~= "" and prefix .. words or nil
    end
    return lines
end

-- The lines of a group of statistics.
local function told(text) return lines_of(text, "STAT ") end

-- "N: a 1; b 2" for each class, as lines "STAT <before>N:a 1".
local function told_of_classes(before, text, rest)
    local lines = {}
    for row in text:gmatch("[^\n]+") do
        local id, fields = row:match("^%s*(%d+): (.*)$")
        for _, line in ipairs(id and lines_of(fields, ("STAT %s%s:"):format(before, id)) or {}) do
            lines[#lines + 1] = line
        end
    end
    return table.move(told(rest or ""), 1, 99, #lines + 1, lines)
end

-- Statistics common to memcacheds from 1.4 to 1.6. more: those that a version adds.
local function general(version, more)
    return told(([[pid 7; uptime 90000+1; time 1795303400+1; version %s; pointer_size 64; rusage_user 10.5;
        rusage_system 20.25; curr_connections 5; total_connections 867+3; connection_structures 6; cmd_get 900000+500;
        cmd_set 400000+100; get_hits 800000+450; get_misses 100000+50; bytes_read 5000000+900;
        bytes_written 9000000+2000; limit_maxbytes 67108864; threads 4; bytes 60000000; curr_items 70000;
        total_items 400000+100; accepting_conns 1; %s]]):format(version, more))
end

local SLABS <const> = [[
    5: chunk_size 240; chunks_per_page 4369; total_pages 4; total_chunks 17476; used_chunks 17476; free_chunks 0;
        free_chunks_end 0
    12: chunk_size 1184; chunks_per_page 885; total_pages 60; total_chunks 53100; used_chunks 3540; free_chunks 49560;
        free_chunks_end 0]]
local TWO_SLABS <const> = SLABS:gsub(";%s*\n%s*", "; ")

local OLD_SETTINGS <const> = [[maxbytes 67108864; maxconns 1024; tcpport 11211; verbosity 0; growth_factor 1.25;
    chunk_size 48; item_size_max 1048576; slab_reassign yes; slab_automove 1; cas_enabled yes]]

--- A list of { name, answers (by command: lists of lines, or texts; `other` for all other commands), is_none (no cache
-- server), is_mute (no statistics), knows }. knows: the set of facts in the server's statistics: "evictions" in all;
-- "evicted", by class; "refused" stores; "connections" that were refused; "limited", the open ones and their limit;
-- its "classes"; their "pages", with the chunks of each; "chains", by all chunk sizes and slab_chunk_max.
M.ALL = {}

local function add(name, knows, answers)
    M.ALL[#M.ALL + 1] = { name = name, knows = {}, answers = answers, is_none = answers.is_none,
        is_mute = answers.is_mute }
    for word in knows:gmatch("%S+") do M.ALL[#M.ALL].knows[word] = true end
end

add("memcached 1.2.2", "evictions classes pages", {
    version = "VERSION 1.2.2",
    stats = told([[pid 7; uptime 90000+1; time 1795303400+1; version 1.2.2; pointer_size 32; rusage_user 1.5;
        rusage_system 2.5; curr_items 21016; total_items 900000+100; bytes 8000000; curr_connections 5;
        total_connections 99+1; connection_structures 7; cmd_get 900000+500; cmd_set 400000+100; get_hits 800000+300;
        get_misses 100000+200; evictions 5000+20; bytes_read 5000000+900; bytes_written 9000000+2000;
        limit_maxbytes 67108864; threads 1]]),
    ["stats slabs"] = told_of_classes("", TWO_SLABS, "active_slabs 2; total_malloced 67108864"),
    ["stats items"] = told_of_classes("items:", "5: number 17476; age 90\n12: number 3540; age 80000"),
    other = "ERROR",
})
add("dragonfly", "", {
    version = "VERSION 1.6.0 DF",
    stats = told([[pid 1; uptime 5000+1; time 1795303400+1; version df-v1.25.1; libevent NA; pointer_size 64;
        rusage_user 11.5; rusage_system 3.25; max_connections -1; curr_connections 3; total_connections -1;
        rejected_connections -1; bytes_read 39200+50; bytes_written 80000+70; limit_maxbytes -1]]),
    other = "END",
})
add("memcached 1.5.22", "evictions evicted refused classes pages limited chains", {
    version = "VERSION 1.5.22",
    stats = general("1.5.22", [[max_connections 1024; rejected_connections 865+3; listen_disabled_num 0;
        evictions 0; slabs_moved 0; slab_global_page_pool 3; reclaimed 0; evicted_unfetched 0]]),
    ["stats slabs"] = told_of_classes("", TWO_SLABS, "active_slabs 2; total_malloced 67108864"),
    ["stats items"] = told_of_classes("items:",
        "5: number 17476; age 90; evicted 0; outofmemory 0\n12: number 3540; age 80000; evicted 0; outofmemory 0"),
    ["stats settings"] = told(OLD_SETTINGS .. "; maxconns_fast yes; slab_chunk_max 524288"),
    other = "ERROR",
})
add("memcached 1.5.12", "evictions evicted refused connections classes pages limited chains", {
    version = "VERSION 1.5.12",
    stats = general("1.5.12", [[max_connections 1024; rejected_connections 0; listen_disabled_num 0;
        evictions 7000+40; slabs_moved 0; slab_global_page_pool 0]]),
    ["stats slabs"] = told_of_classes("", TWO_SLABS
        .. "\n38: chunk_size 394840; chunks_per_page 2; total_pages 1; total_chunks 2; used_chunks 2; free_chunks 0",
        "active_slabs 3; total_malloced 67108864"),
    ["stats items"] = told_of_classes("items:", "5: number 17476; age 90; evicted 7000+40; outofmemory 0\n"
        .. "12: number 3540; age 80000; evicted 0; outofmemory 0\n38: number 2; age 3; evicted 0; outofmemory 900+5"),
    ["stats settings"] = told(OLD_SETTINGS .. "; slab_chunk_max 524288"),
    other = "ERROR",
})
add("InnoDB", "evictions limited", {
    version = "VERSION 5.7.44-log",
    stats = told([[pid 7; uptime 90000+1; time 1795303400+1; version 5.7.44-log; libevent 2.1.11-stable;
        pointer_size 64; rusage_user 1.5; rusage_system 2.5; daemon_connections 10; curr_connections 12;
        total_connections 44; connection_structures 12; cmd_get 50+5; cmd_set 50; get_hits 40+4; get_misses 10+1;
        bytes_read 900+9; bytes_written 900+9; limit_maxbytes 67108864; threads 4; conn_yields 0; evictions 0;
        curr_items 0; total_items 0; bytes 0; reclaimed 0; engine_maxbytes 67108864; logger standard error]]),
    ["stats settings"] = told("maxbytes 67108864; maxconns 1000; logger standard error; verbosity 0"),
    other = "END",
})
add("memcached 1.6.45 with slab_sizes", "evictions evicted refused connections classes pages limited", {
    version = "VERSION 1.6.45",
    stats = general("1.6.45", [[max_connections 1024; rejected_connections 0; listen_disabled_num 0; evictions 0;
        store_no_memory 0; store_too_large 0; slabs_moved 0; slab_global_page_pool 60]]),
    ["stats slabs"] = told_of_classes("", "1: chunk_size 96; chunks_per_page 10922; total_pages 1; total_chunks 10922; "
        .. "used_chunks 900; free_chunks 10022; mem_requested 80000\n2: chunk_size 200; chunks_per_page 5242; "
        .. "total_pages 1; total_chunks 5242; used_chunks 100; free_chunks 5142; mem_requested 15000",
        "active_slabs 2; total_malloced 2097152"),
    ["stats items"] = told_of_classes("items:", "1: number 900; age 50; evicted 0; outofmemory 0\n"
        .. "2: number 100; age 40; evicted 0; outofmemory 0"),
    ["stats settings"] = told(OLD_SETTINGS .. "; slab_chunk_max 524288; track_sizes no; lru_crawler yes"),
    other = "ERROR",
})
add("a foreign server", "", {
    version = "VERSION 2.0-ours",
    stats = told("pid 7; uptime 90000+1; version 2.0-ours"),
    other = "ERROR",
})
add("a foreign server without groups", "evictions", {
    version = "VERSION 3.1",
    stats = told("uptime 90000+1; curr_items 12; evictions 100+10"),
    ["stats items"] = "CLIENT_ERROR bad stats command", ["stats slabs"] = "SERVER_ERROR not supported",
    ["stats settings"] = "END", other = "CLIENT_ERROR bad stats command",
})
add("mcrouter", "", {
    version = "VERSION mcrouter 1.0.0",
    stats = told([[version mcrouter 1.0.0; commandargs -p 5000; pid 7; parent_pid 1; time 1795303400+1;
        uptime 90000+1; num_servers 3; num_servers_up 2; num_clients 4; cmd_get_count 900+9; cmd_get 4.5;
        cmd_set 0.5; rusage_system 3.5; rusage_user 1.5; ps_rss 900000; fibers_allocated 12]]),
    other = "CLIENT_ERROR bad stats command",
})
add("a proxy that counts no gets", "evictions limited", {
    version = "VERSION 1.8.2",
    stats = told([[pid 7; uptime 90000+1; version 1.8.2; curr_connections 12; max_connections 1024; cmd_set 400000+100;
        get_hits 800000+450; get_misses 100000+50; curr_items 70000; evictions 5000+20; limit_maxbytes 67108864]]),
    other = "ERROR",
})
add("moxi", "classes pages limited", {
    version = "VERSION 1.8.1",
    stats = told([[pid 7; uptime 90000+1; time 1795303400+1; version 1.8.1; pointer_size 64; rusage_user 1.5;
        rusage_system 2.5; curr_connections 12; total_connections 44+1; connection_structures 12; cmd_get 0; cmd_set 0;
        get_hits 0; get_misses 0; bytes_read 90+9; bytes_written 90+9; limit_maxbytes 67108864; threads 5;
        conn_yields 0]]),
    ["stats items"] = "END", ["stats slabs"] = told("active_slabs 0; total_malloced 0"),
    ["stats settings"] = told("maxbytes 67108864; maxconns 1024; item_size_max 1048576"), other = "ERROR",
})
add("a proxy that answers version alone", "", { version = "VERSION 0.5.0", is_mute = true })
add("memcached 1.5.12 without classes", "evictions connections limited chains", {
    version = "VERSION 1.5.12",
    stats = M.ALL[4].answers.stats, ["stats settings"] = M.ALL[4].answers["stats settings"],
    ["stats items"] = "CLIENT_ERROR", ["stats slabs"] = "SERVER_ERROR not supported",
})
add("KeyDB", "", {
    is_none = true,
    version = "-ERR unknown command `version`, with args beginning with: ",
    other = "-ERR unknown command `stats`, with args beginning with: ",
})
add("a server of negative numbers", "", {
    version = "VERSION 1.6.45",
    stats = told([[pid 7; uptime 90000+1; version 1.6.45; max_connections -1; curr_connections -3;
        rejected_connections -1; listen_disabled_num -1; limit_maxbytes -1; bytes -1; curr_items -1; evictions -1;
        cmd_get -1; cmd_set -1; get_hits -1; get_misses -1; store_no_memory -1; slab_global_page_pool -1;
        total_connections -1; accepting_conns -1; threads -1; hash_bytes -1]]),
    ["stats slabs"] = told_of_classes("", "3: chunk_size -1; chunks_per_page -1; total_pages -1; total_chunks -1; "
        .. "used_chunks -1; free_chunks -1; mem_requested -1", "active_slabs -1; total_malloced -1"),
    ["stats items"] = told_of_classes("items:", "3: number -1; age -1; evicted -1; outofmemory -1"),
    ["stats settings"] = told([[maxbytes -1; maxconns -1; growth_factor -1; chunk_size -1; item_size_max -1;
        slab_chunk_max -1; slab_automove -1]]),
    other = "ERROR",
})
add("a server of words for numbers", "", {
    version = "VERSION 1.6.45",
    stats = told([[pid x; uptime 1e3; version 1.6.45; max_connections unlimited; curr_connections 0x10;
        rejected_connections nan; limit_maxbytes 64MB; bytes -; curr_items 1,000; evictions none; cmd_get many;
        cmd_set inf; get_hits -inf; get_misses 1.; store_no_memory ?; total_connections unknown]]),
    ["stats slabs"] = told_of_classes("", "3: chunk_size 1k; total_pages few; used_chunks NaN; free_chunks +1"),
    ["stats items"] = told_of_classes("items:", "3: number x; age y; evicted z; outofmemory -"),
    ["stats settings"] = told("maxbytes 64m; maxconns auto; growth_factor x; slab_chunk_max half; slab_automove ?"),
    other = "ERROR",
})

add("memcached 1.6.45 without pages of classes", "evictions evicted refused connections limited chains", {
    version = "VERSION 1.6.45",
    stats = general("1.6.45", [[max_connections 1024; rejected_connections 0; listen_disabled_num 0; evictions 0;
        store_no_memory 0; slabs_moved 0]]),
    ["stats slabs"] = "CLIENT_ERROR bad stats command",
    ["stats items"] = told_of_classes("items:", "1: number 900; age 50; evicted 0; outofmemory 0\n"
        .. "2: number 100; age 40; evicted 0; outofmemory 0"),
    ["stats settings"] = told(OLD_SETTINGS .. "; slab_chunk_max 524288"),
    other = "ERROR",
})
add("a server of zeros for sizes", "evictions classes", {
    version = "VERSION 1.6.45",
    stats = told("pid 7; uptime 90000+1; version 1.6.45; limit_maxbytes 0; bytes 0; evictions 100+10"),
    ["stats slabs"] = told_of_classes("", "3: chunk_size 0; chunks_per_page 0; total_pages 4; total_chunks 0; "
        .. "used_chunks 99; mem_requested 5000\n4: chunk_size 120; chunks_per_page 8738; total_pages 2",
        "active_slabs 2; total_malloced 0"),
    ["stats items"] = told_of_classes("items:", "3: number 99"),
    ["stats settings"] = told("maxbytes 0; item_size_max 0; growth_factor 0; chunk_size 0; slab_chunk_max 0"),
    other = "ERROR",
})

-- A list of lines with counters as they are after so many seconds.
local function at(lines, seconds)
    local text = {}
    for i, line in ipairs(lines) do
        text[i] = line:gsub("(%d+)%+(%d+)$", function(first, per_s)
            return ("%d"):format(math.floor(first + per_s * seconds + 0.5))
        end)
    end
    text[#text + 1] = "END"
    return table.concat(text, "\r\n")
end

--- A profile's reply to a command after so many seconds: a text without the last CR LF.
function M.answer(profile, command, seconds)
    local answer = profile.answers[command] or profile.answers.other
    return type(answer) == "table" and at(answer, seconds) or answer or "ERROR"
end

return M
