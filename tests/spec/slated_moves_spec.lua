-- SPDX-License-Identifier: BSD-3-Clause
-- Page moves as an operator sees them: modes, requests, the record of moves, a changed memory limit.
local patience = require "support.patience"
local rig = require("support.rig").new(after_each)
local wire = require "support.wire"
require "support.world"

local PAGE_BYTES <const> = 1 << 20

local store = rig.store

-- The moves of `stats moves`, oldest first, and the lines before them.
local function moves_of()
    local names, values = wire.stats(rig.connection, "moves")
    local head, moves, at = {}, {}, {}
    for _, name in ipairs(names) do
        local number, field = name:match("^(%d+):(.+)$")
        if not number then
            head[name] = values[name]
        else
            if not at[number] then
                at[number] = { number = tonumber(number) }
                moves[#moves + 1] = at[number]
            end
            at[number][field] = values[name]
        end
    end
    return head, moves
end

describe("slated's pages", function()
    local function pages_of(class) return rig.number(class .. ":total_pages", "slabs") or 0 end

    local function pages_out() return rig.number("pages_out", "slated") end

    -- The id of the class with most pages.
    local function largest_class()
        local id, most = nil, 0
        for name, value in pairs(rig.stats("slabs")) do
            if name:find(":total_pages$") and tonumber(value) > most then
                id, most = name:match("^%d+"), tonumber(value)
            end
        end
        return id, most
    end

    it("have modes by number and by name, of which the settings show memcached's numbers", function()
        rig.start("-o", "slab_automove=lra")
        local function mode() return rig.stats("settings").slab_automove end
        assert.same({ "lra", "lra" }, { mode(), (moves_of()).mode })
        for name, shown in pairs({ off = "0", ["1"] = "1", eviction = "2", random = "random", lrc = "lrc" }) do
            assert.equal("OK", rig.ask("slabs automove " .. name))
            assert.equal(shown, mode())
        end
        assert.equal("OK", rig.ask("config set slab_automove ratio"))
        assert.same({ "1", "ratio" }, { mode(), (moves_of()).mode })
        assert.equal("CLIENT_ERROR bad command line format", rig.ask("slabs automove sideways"))
        assert.matches("^CLIENT_ERROR slab_automove wants 0, 1, 2 or one of off|ratio|",
            rig.ask("config set slab_automove sideways"))
        assert.equal("ERROR", rig.ask("slabs automove 3"))
        assert.equal("1", mode())
    end)

    it("say why nothing moves", function()
        rig.start("-m", "16")
        patience.wait_for("a full pool", function() return (moves_of()).why:find("^the pool has %d+ pages$") end)
        assert.equal("OK", rig.ask("slabs automove 0"))
        patience.wait_for("automove to be off", function() return (moves_of()).why == "automove is off" end)
    end)

    it("are recorded with their mode, reason and cost, also where a class finds none", function()
        rig.start("-m", "8", "-o", "slab_automove=0")
        assert.equal(0, (store("a", 12000, 900)))
        local from = largest_class()
        assert.equal("OK", rig.ask(("slabs reassign %s 3 2"):format(from)))
        local head, moves
        patience.wait_for("the record of a move", function() -- a move is recorded once the pages have come
            head, moves = moves_of()
            return #moves > 0
        end)
        assert.equal(2, pages_of("3"))
        assert.equal("2", head.pages_moved)
        local last = moves[#moves]
        assert.same({ from, "3", "2", "2", "operator", "moved" },
            { last.from, last.to, last.pages, last.wanted, last.mode, last.outcome })
        assert.matches("^slabs reassign " .. from .. " 3", last.reason)
        assert.truthy(tonumber(last.lost) > 1000, last.lost)
        assert.truthy(tonumber(last.duration_us) > 0)
        assert.truthy(math.abs(tonumber(last.time) - os.time()) < 60)
        assert.equal(0, (store("b", 50, 9000))) -- for a class without any page: one comes at once
        moves = select(2, moves_of())
        last = moves[#moves]
        assert.equal("steal", last.mode)
        assert.matches("found nothing free", last.reason)
        assert.truthy(tonumber(last.lost) + tonumber(last.rescued) > 0)
    end)

    it("stop moving when a request is cancelled", function()
        rig.start("-m", "32", "-o", "slab_automove=0")
        assert.matches("^NOTHING to cancel", rig.ask("slabs reassign cancel"))
        assert.equal(0, (store("a", 20000, 900)))
        local from, pages = largest_class()
        assert.truthy(pages > 10, pages)
        -- In one packet, so that little time passes between; the move may have ended all the same.
        assert.equal("OK", rig.ask(("slabs reassign %s 0 %d\r\nslabs reassign %s 0 1\r\nslabs reassign cancel")
            :format(from, pages, from)))
        local second, answer = assert(rig.connection:receive("*l")), assert(rig.connection:receive("*l"))
        local moved, wanted = answer:match("^OK cancelled, (%d+) of (%d+) pages had moved$")
        if answer:find("^NOTHING") then
            moved, wanted = pages - 1, pages
        end
        assert.truthy(second:find("^BUSY") or second:find("^NOSPARE") and answer:find("^NOTHING"), second)
        assert.equal(pages, tonumber(wanted))
        assert.equal(pages - tonumber(moved), pages_of(from))
    end)

    it("go back to the system when the memory limit shrinks, and return when it grows", function()
        rig.start_process("-m", "48", "-o", "slab_automove=0") -- so that the first move is the limit's
        assert.equal(0, (store("a", 45000, 900)))
        local full = rig.server:resident_bytes()
        assert.truthy(full > 40 * PAGE_BYTES, full)
        assert.equal("OK", rig.ask("cache_memlimit 16"))
        patience.wait_for("pages over the limit to go", function() return pages_out() <= 16 end)
        patience.wait_for("the memory to be given back", function()
            return rig.server:resident_bytes() < full - 20 * PAGE_BYTES
        end)
        local head, moves = moves_of()
        assert.same({ "0", "limit" }, { head.over_limit, moves[1].mode })
        assert.matches("^%d+ pages are over the memory limit$", moves[1].reason)
        assert.equal(16 * PAGE_BYTES, rig.number("limit_maxbytes"))
        assert.equal(0, (store("c", 20000, 900)))
        assert.truthy(pages_out() <= 16)
        assert.equal("OK", rig.ask("cache_memlimit 32"))
        assert.equal(0, (store("d", 40000, 900)))
        patience.wait_for("classes to grow again", function() return pages_out() > 24 end)
    end)

    for _, kind in ipairs({ "slab", "heap", "blocks" }) do
        it("leave as many items as fit when the limit shrinks in steps, in the store of " .. kind, function()
            rig.start("-m", "32", "--store=" .. kind)
            assert.equal(0, (store("a", 40000, 600)))
            for _, megabytes in ipairs({ 16, 8 }) do
                assert.equal("OK", rig.ask("cache_memlimit " .. megabytes))
                patience.wait_for("memory to be given back", function()
                    return rig.number("total_malloced", "slabs") <= (megabytes + 1) * PAGE_BYTES
                end)
                local general = rig.stats()
                local share = tonumber(general.bytes) / (megabytes * PAGE_BYTES)
                assert.truthy(share > 0.5, ("%.2f of %d MB is left"):format(share, megabytes))
                assert.truthy(tonumber(general.slab_global_page_pool) <= megabytes, general.slab_global_page_pool)
            end
            assert.equal(0, (store("b", 20000, 600)))
        end)
    end

    it("keep their limit where nothing may be evicted for another, or there is none such", function()
        for store_kind, bytes in pairs({ slab = 900, heap = 3000 }) do
            rig.start("-m", "16", "-M", "--store=" .. store_kind)
            assert.equal(0, (store("a", 10000000 // bytes, bytes)))
            for _, megabytes in ipairs({ 8, 100000 }) do
                assert.matches("^MEMLIMIT_ADJUST_FAILED", rig.ask("cache_memlimit " .. megabytes))
            end
            assert.equal(16 * PAGE_BYTES, rig.number("limit_maxbytes"))
            assert.equal("OK", rig.ask("cache_memlimit 15"))
        end
    end)

    it("and changes of settings are in the audit log with the old value, the client and the time", function()
        rig.start("-m", "16", "-o", "slab_automove=0")
        for _, line in ipairs({ "slabs automove lrc", "config set slab_automove_window 30", "flush_all 30",
            "cache_memlimit 32", "slabs reassign 0 5 2", "evict policy lru 3" }) do
            assert.equal("OK", rig.ask(line))
        end
        assert.matches("^MEMLIMIT_ADJUST_FAILED", rig.ask("cache_memlimit 100000"))
        local values
        patience.wait_for("the record of the move", function()
            values = rig.stats("audit")
            return values["move1:what"]
        end)
        assert.equal(2, pages_of("5"))
        for n, entry in ipairs({ "slab_automove: 0 -> lrc", "slab_automove_window: 10 -> 30", "flush_all:  -> in 30 s",
            ("maxbytes: %d -> %d"):format(16 * PAGE_BYTES, 32 * PAGE_BYTES),
            "slabs reassign:  -> 2 pages from class 0 to 5", "policy of class 3: s3fifo -> lru" }) do
            assert.equal(entry, ("%s: %s -> %s"):format(values[n .. ":what"], values[n .. ":was"] or "",
                values[n .. ":is"]))
        end
        assert.is_nil(values["7:what"])
        assert.matches("^2 of 2 pages from class 0 to 5 moved in %d+ us, 0 items rescued, 0 lost, 0 expired: slabs "
            .. "reassign 0 5, ", values["move1:what"])
        assert.equal("operator", values["move1:who"])
        local addresses = {}
        for name, value in pairs(rig.stats("conns")) do
            addresses[name:find(":addr$") and value or ""] = true
        end
        assert.truthy(addresses[values["1:who"]], values["1:who"])
        assert.truthy(math.abs(tonumber(values["1:time"]) - os.time()) < 60)
    end)

    it("and utility shows the value of a page to each class, and moves pages by it", function()
        rig.start("-m", "8", "-o", "slab_automove=utility")
        local off = rig.stats("automove")
        assert.same({ "utility", "0" }, { off.mode, off.weighed })
        assert.equal(0, (store("idle", 12000, 600)))
        assert.equal(0, (store("asked", 300, 9000)))
        local weighed, to
        patience.wait_for("pages for the class", function()
            for _ = 1, 20 do -- 300 values of 9 kB want three pages
                if rig.there("asked", 300) < 300 then
                    store("asked", 300, 9000)
                end
            end
            weighed = rig.stats("automove")
            local _, moves = moves_of()
            to = moves[#moves] and moves[#moves].to
            return to and tonumber(weighed[to .. ":pages"] or 0) >= 3
        end)
        for _, field in ipairs({ "gain", "gain_doubt", "gain_pages", "loss", "loss_doubt", "average" }) do
            assert.truthy(tonumber(weighed[to .. ":" .. field]) >= 0, field)
        end
        assert.truthy(tonumber(weighed[to .. ":average"]) > 0)
        assert.equal("OK", rig.ask("slabs automove 0"))
        patience.wait_for("an automove that is off", function()
            off = rig.stats("automove")
            return off.mode == "off" and off.weighed == "0"
        end)
    end)

    -- Sends as much of each upload as its socket takes, and collects the replies.
    local function upload_side_by_side(clients, texts)
        local sent, replies, left = {}, {}, #clients
        for i, client in ipairs(clients) do
            client:settimeout(0)
            sent[i] = 0
        end
        patience.wait_for("a reply to each upload", function()
            for i, client in ipairs(clients) do
                if sent[i] < #texts[i] then
                    local last, _, partial = client:send(texts[i], sent[i] + 1)
                    sent[i] = last or partial
                elseif not replies[i] then
                    replies[i] = client:receive("*l")
                    left = left - (replies[i] and 1 or 0)
                end
            end
            return left == 0
        end)
        return replies
    end

    -- Uploads of the largest values at 32 MB beside one that stalls half way.
    for _, mode in ipairs({ "1", "lra", "utility" }) do
        it(("serve uploads of 1 MB at once and one that stalls, in mode %s"):format(mode), function()
            -- Automove alone moves pages here: a change of the chunk sizes would do so, too.
            rig.start("-m", "32", "-o", "no_slab_geometry_auto,slab_automove=" .. mode)
            assert.equal(0, (store("a", 30000, 900)))
            local bytes <const> = PAGE_BYTES - 600
            local stalled = rig.connect()
            assert(stalled:send(("set stalled 0 0 %d\r\n%s"):format(bytes, ("s"):rep(bytes // 2))))
            local value, uploads, texts = ("u"):rep(bytes), {}, {}
            for i = 1, 40 do
                uploads[i] = rig.connect()
                texts[i] = ("set upload%d 0 0 %d\r\n%s\r\n"):format(i, bytes, value)
            end
            for i, reply in ipairs(upload_side_by_side(uploads, texts)) do
                assert.equal("STORED", reply, "upload " .. i)
            end
            -- Only the stalled upload may have given its memory to the others, which is no lack of memory.
            assert.equal(0, rig.number("store_no_memory"))
            assert.is_true(rig.number("uploads_timed_out", "slated") <= 1)
        end)
    end
end)
