-- SPDX-License-Identifier: BSD-3-Clause
-- Commands of slatectl on servers with damaged replies: a command prints a result, or a sentence with the error. SEED=
-- and ROUNDS= try others.
local canned = require "support.canned"
local server = require "support.server"

local seed = math.tointeger(tonumber(os.getenv("SEED") or "")) or 17
local ROUNDS <const> = tonumber(os.getenv("ROUNDS") or 1) -- damaged answers for each command

local FIXTURES <const> = "tests/console/fixtures/"

local function items(command)
    local parts = {}
    for key in command:gmatch(" (%S+)") do
        parts[#parts + 1] = ("VALUE %s 5 3 18\r\nabc\r\n"):format(key)
    end
    return table.concat(parts) .. "END"
end

local KEYS <const> = "key=a%20b exp=-1 la=1795303300 cas=6 fetch=yes cls=1 size=60\r\n"
    .. "key=user:1 exp=1795309999 la=1795303300 cas=7 fetch=no cls=2 size=170\r\n"
    .. "key=user:2 exp=-1 la=1795303300 cas=8 fetch=no cls=2 size=171\r\nEND"
local EVENTS <const> = "OK\r\nts=1795303361.5 gid=1 type=item_get key=a status=found clsid=2 cfd=9 size=100\r\n"
    .. "ts=1795303361.6 gid=2 type=item_store key=b status=stored cmd=set ttl=0 clsid=3 cfd=9 size=200\r\n"
    .. "skipped=3\r\nts=1795303361.7 gid=3 type=eviction key=c fetch=no ttl=-1 la=5 clsid=2 size=100"

-- Replies of both kinds of server beside their statistics.
local ANSWERS <const> = {
    get = items, gets = items, gat = items, mn = "MN", mg = "VA 3 s3 t-1 c5 f5 kk\r\nabc", ms = "HD", md = "HD",
    me = "me k exp=-1 la=5 cas=6 fetch=yes cls=2 size=60", delete = "DELETED", set = "STORED", touch = "TOUCHED",
    ["lru_crawler"] = KEYS, watch = EVENTS, slabs = "OK", config = "OK", cache_memlimit = "OK", lru = "OK",
    verbosity = "OK", evict = "OK",
    ["stats conns"] = "STAT 9:addr tcp:127.0.0.1:5\r\nSTAT 9:listen_addr tcp:127.0.0.1:11211\r\n"
        .. "STAT 9:state conn_read\r\nSTAT 9:secs_since_last_cmd 4\r\nSTAT 10:addr tcp:127.0.0.1:6\r\n"
        .. "STAT 10:state conn_listening\r\nSTAT 10:secs_since_last_cmd 8\r\nEND",
}

local function with(base, others)
    local all = {}
    for name, value in pairs(base) do all[name] = value end
    for name, value in pairs(others) do all[name] = value end
    return all
end

local PREDICTED <const> = "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109310 instead of 100000, and "
    .. "waste 4.6 % of their memory instead of 12.0 %; the sizes: 96,120,152"

local SLATED <const> = {
    files = { FIXTURES .. "slated-0.1-first.txt", FIXTURES .. "slated-0.1-second.txt" },
    answers = with(ANSWERS, {
        version = "VERSION 1.6.45",
        slabs = function(command) return command:find("dry$") and PREDICTED or "OK" end,
        stats = function(command)
            return command:find("^stats pages") and "stats pages 0 4096"
                or command:find("^stats hotkeys") and "stats hotkeys 64"
                or command:find("^stats curve") and "stats curve 12" or "END"
        end,
        ["stats memory"] = "STAT limit 67108864\r\nSTAT used 60000000\r\nSTAT process 70000000\r\nEND",
        ["stats config"] = "STAT slab_automove:value off\r\nSTAT slab_automove:choices off|ratio\r\nEND",
    }),
}
local MEMCACHED <const> = {
    files = { FIXTURES .. "memcached-1.6.45-extstore-first.txt", FIXTURES .. "memcached-1.6.45-extstore-second.txt" },
    answers = with(ANSWERS, {
        version = "VERSION 1.6.45",
        ["stats slated"] = "ERROR",
        ["stats sizes"] = "STAT 96 500\r\nSTAT 192 700\r\nSTAT 4096 12\r\nEND",
        stats = "ERROR",
    }),
}

-- OUT is the name of a file that does not exist yet.
local COMMANDS <const> = {
    "top", "classes", "classes --json", "classes --csv", "pages", "items", "sizes", "sizes --json",
    "sizes --from metadump", "fit 500", "fit 500 90000 --json", "settings", "settings auto", "stats", "stats items",
    "stats slabs --json", "stats --csv", "fleet", "fleet --json", "conns", "conns --json", "hotkeys", "hotkeys --json",
    "watch fetchers --for 1s", "watch fetchers mutations --for 1s --json", "keys", "keys --list",
    "get k1", "me k1", "delete k2", "advise", "advise sizes", "advise pages", "advise policy", "advise automove",
    "advise memory --price-per-gb 3 --price-per-miss 0.000001", "advise --json",
    "check",
    "check --max-evictions 5", "doctor", "doctor --json", "waste", "waste --json", "curve", "curve 12", "curve --json",
    "whatif", "whatif --json", "move 4 12 2", "move 4 12 --dry-run",
    "move 4 12 1 --verdict", "automove", "automove ratio", "automove --json", "moves", "moves --wide", "moves --json",
    "set slab_automove=1", "set maxbytes=70000000", "set temporary_ttl=60", "extstore", "extstore --json",
    "extstore item_age=60", "plan -o OUT", "trial slab_automove=1 --for 3s", "audit", "undo --dry-run", "geometry",
    "geometry --json", "geometry auto --dry-run", "geometry factor 1.2", "geometry auto --wait --limit 2s",
    "policy run ratio --interval 1s --count 2", "policy run utility --interval 1s --count 2 --dry-run",
    "record -o OUT --interval 1s --count 2", "capture -o OUT --for 1s", "save OUT", "chart pages -o OUT.txt",
    "report -o OUT.html --interval 1s --for 2s", "export", "version", "version --json",
}

local NUMBERS <const> = { "-1", "18446744073709551615", "99999999999999999999", "abc", "", "0.5", "nan", "1e999", "-0",
    "0", "9223372036854775807", "yes", "NULL", "\27[2J" }
local WORDS <const> = { "\27]0;x\7", "\0", "\255\254", "STAT ", "END\r\n", "\r\n", "ERROR\r\n", "SERVER_ERROR x\r\n",
    "CLIENT_ERROR\r\n", "VA 5 \r\n", ("x"):rep(70000), "STAT x y z\r\n" }

local function one_of(list) return list[math.random(#list)] end

local function lines_of(text)
    local lines = {}
    for line in text:gmatch("(.-)\r\n") do lines[#lines + 1] = line end
    return lines
end

-- Ways in which an answer is damaged.
local WAYS <const> = {
    function(text) -- some of its numbers
        return (text:gsub("(STAT %S+ )(%S+)", function(name, value)
            return math.random() < 0.03 and name .. one_of(NUMBERS) or name .. value
        end):gsub("([=:])(%d+)", function(mark, value)
            return math.random() < 0.02 and mark .. one_of(NUMBERS) or mark .. value
        end))
    end,
    function(text) -- half of its numbers, in the same way
        local number = one_of(NUMBERS)
        return (text:gsub("(STAT %S+ )(%-?[%d.]+)", function(name, value)
            return math.random() < 0.5 and name .. number or name .. value
        end))
    end,
    function(text) -- pieces of it
        for _ = 1, math.random(3) do
            local at = math.random(0, #text)
            text = text:sub(1, at) .. one_of(math.random() < 0.5 and WORDS or NUMBERS)
                .. text:sub(at + 1 + math.random(0, 19))
        end
        return text
    end,
    function(text) -- its lines
        local lines = lines_of(text)
        for _ = 1, 3 do
            local at = math.random(math.max(1, #lines))
            local kind = math.random(3)
            if kind == 1 then
                table.remove(lines, at)
            else
                table.insert(lines, at, kind == 2 and lines[at] or one_of(lines))
            end
        end
        return table.concat(lines, "\r\n") .. "\r\n"
    end,
}

describe("a server with damaged replies", function()
    local folder, made

    setup(function()
        folder, made = server.folder(), 0
        print(("# SEED=%d"):format(seed))
    end)
    teardown(function() server.remove_folder(folder) end)

    -- In a word with OUT each run has a file of its own.
    local function words_of(command)
        local words = {}
        made = made + 1
        for word in command:gmatch("%S+") do
            words[#words + 1] = (word:gsub("OUT", ("%s/%d"):format(folder, made)))
        end
        return words
    end

    -- Faults that a user would see in a run's exit code, output and messages.
    local function fault_of(code, out, err)
        if code == nil or code == 70 or err:find("internal error", 1, true) then
            return "an internal error"
        elseif (out .. err):find("[\0-\8\11-\31\127]") then
            return "control characters"
        elseif code ~= 0 and err == "" and out == "" then
            return "a failure without a word"
        end
    end

    local function run(one, command)
        one.asked = {}
        return one:slatectl(words_of(command), { HOME = folder, SLATE_AUDIT = folder .. "/audit.log",
            SLATE_LOCK_DIR = folder, SLATE_RULES = folder .. "/none.lua", SLATE_SERVER = "127.0.0.1:11211",
            TERM = "dumb", PATH = os.getenv("PATH") })
    end

    for name, kind in pairs({ slated = SLATED, memcached = MEMCACHED }) do
        it("is answered by every command in words, as one that is whole is: " .. name, function()
            local way
            local one = canned.new(kind.files, kind.answers, function(text) return way and way(text) or text end)
            one:install()
            local faults, seen = {}, {}
            for i, command in ipairs(COMMANDS) do
                way = nil
                local code, out, err = run(one, command)
                local fault = fault_of(code, out, err)
                assert(not fault, ("%s, undamaged: %s, %s: %s"):format(command, fault, code, err))
                for round = 1, ROUNDS do
                    way = WAYS[(i + round) % #WAYS + 1]
                    math.randomseed(seed, i * ROUNDS + round) -- whatever ran earlier
                    code, out, err = run(one, command)
                    fault = fault_of(code, out, err)
                    local where = err:match("internal error: ([^\n]*)") or fault
                    if fault and not seen[where] then
                        seen[where] = true
                        faults[#faults + 1] = ("%s, round %d: %s, %s: %s"):format(command, round, fault, code, err)
                    end
                end
            end
            assert(#faults == 0, ("SEED=%d, %d faults:\n%s"):format(seed, #faults, table.concat(faults, "\n")))
        end)
    end
end)
