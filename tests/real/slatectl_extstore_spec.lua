-- SPDX-License-Identifier: BSD-3-Clause
-- memcached's storage on flash: slatectl extstore, its settings by set, undo and trial, and the doctor's findings.
local view = require "slate.judge.view"
local command = require "support.command"
local dkjson = require "dkjson"
local doctor = require "slate.judge.doctor"
local server = require "support.server"
local snapshots = require "support.snapshots"
local storage = require "slate.facts.storage"
local support = require "support.storage"

-- Every setting, and a value other than its default.
local WANTED <const> = { ext_item_size = "2048", ext_item_age = "30", ext_low_ttl = "15", ext_recache_rate = "100",
    ext_max_frag = "0.7", ext_drop_unread = "yes", ext_compact_under = "3", ext_drop_under = "2",
    ext_max_sleep = "500000" }

local kinds, missing = support.all()

if missing then
    describe("slatectl extstore", function()
        it("shows and changes a memcached's storage on flash", function() pending(missing) end)
    end)
end

for _, kind in ipairs(kinds) do
    describe("slatectl extstore on " .. kind.name, function()
        local one, client, ctl

        setup(function()
            one = support.start(kind)
            client = one:connect()
            ctl = command.new({ server = one.address })
            support.fill(client)
        end)
        teardown(function()
            client:close()
            ctl.remove()
            one:stop()
        end)
        before_each(function() os.remove(ctl.folder .. "/audit.log") end)

        local function settings()
            return (assert(require("slate.facts.runtime").read(client)))
        end

        it("shows the items on flash, their form, and the classes that are written", function()
            local document = dkjson.decode((ctl.succeed("--json extstore --interval 0")))
            local seen, pages, free = document.storage, 0, 0
            assert.equal("slate/extstore/1", document.schema)
            assert.equal(64 << 20, seen.limit_bytes)
            assert.equal(2 << 20, seen.page_bytes)
            assert.equal(32, seen.pages)
            assert.truthy(seen.objects > 0 and seen.objects_ratio > 0 and seen.objects_ratio <= 1)
            for _, bucket in ipairs(document.buckets) do
                pages, free = pages + bucket.pages, free + bucket.pages_free
            end
            assert.equal(32, pages)
            assert.truthy(free >= seen.pages_free) -- older ones show pages that are being written as free ones
            for _, class in ipairs(document.classes) do
                assert.equal(class.chunk_bytes >= 512, class.is_written, class.id)
            end
            local text = ctl.succeed("extstore --interval 50ms")
            for _, words in ipairs({ "64 MiB: 32 pages of 2 MiB", "WRITTEN AS", "TO FLASH", "ext_max_frag" }) do
                assert.truthy(text:find(words, 1, true), words .. "\n" .. text)
            end
            assert.truthy(ctl.succeed("--csv extstore --interval 0"):find(
                "^server,time_s,name,pages,pages_free,used_bytes,fill_ratio,sparse_pages\n[^\n]+,default,"))
        end)

        it("sets, verifies and takes back every setting, to the letter", function()
            local before, count = settings(), 0
            for name, value in pairs(WANTED) do
                if before[name] then -- that version has the setting
                    ctl.succeed(("set %s=%s"):format(name, value))
                    assert.are_not.equal(before[name], settings()[name], name)
                    count = count + 1
                end
            end
            assert.truthy(count >= 8)
            for _ = 1, count do
                ctl.succeed("undo")
            end
            assert.same(before, settings())
            ctl.succeed("extstore recache_rate 7")
            assert.equal("7", settings().ext_recache_rate)
            ctl.succeed("undo")
            assert.same(before, settings())
        end)

        it("tries one and goes back", function()
            local before = settings()
            local _, said = ctl.succeed("trial ext_item_age=3 --for 200ms --interval 100ms")
            assert.truthy(said:find("ext_item_age: 4294967295 -> 3", 1, true), said)
            assert.same(before, settings())
            assert.truthy(ctl.succeed("audit"):find("ext_item_age: 3 -> 4294967295 (undoes 1)", 1, true))
        end)

        it("sends no setting that would have another effect than its name says", function()
            local before = settings()
            for arguments, wanted in pairs({ ["set ext_item_size=0"] = 64, ["set ext_item_size=1048577"] = 64,
                ["set ext_item_age=-1"] = 64, ["set ext_item_age=4294967296"] = 64, ["set ext_max_frag=1.5"] = 64,
                ["set ext_drop_unread=maybe"] = 64, ["extstore nonsense 1"] = 64, ["extstore item_age"] = 64,
                ["extstore item_age 1 2"] = 64, ["extstore free_memchunks 5 10"] = 3, ["set ext_wbuf_size=4"] = 3,
                ["--read-only extstore item_age 5"] = 77 }) do
                local code, out, err = ctl.run(arguments)
                assert.equal(wanted, code, arguments .. ": " .. out .. err)
                assert.truthy(err:find("^slatectl: [^\n]+\n$"), err)
            end
            assert.truthy(ctl.succeed("extstore item_age 5 --dry-run"):find("extstore item_age 5", 1, true))
            assert.same(before, settings())
        end)
    end)

    describe("a memcached without storage on flash, " .. kind.name, function()
        it("is recognised, though it shows the settings", function()
            local one = server.start({ binary = kind.binary, args = { "-m", "16" } })
            local ctl = command.new({ server = one.address })
            finally(function()
                ctl.remove()
                one:stop()
            end)
            local code, _, err = ctl.run("extstore --interval 0")
            assert.equal("3 slatectl: this memcached was started without storage on flash: -o ext_path=FILE:SIZE "
                .. "gives it some\n", code .. " " .. err)
            code, _, err = ctl.run("set ext_item_age=5")
            assert.equal("3 slatectl: ext_item_age: needs a start with -o ext_path\n",
                code .. " " .. err)
        end)
    end)
end

describe("slatectl extstore on slated", function()
    it("says that it has none", function()
        local one = server.start()
        local ctl = command.new({ server = one.address })
        finally(function()
            ctl.remove()
            one:stop()
        end)
        local code, _, err = ctl.run("extstore --interval 0")
        assert.equal("3 slatectl: slated has no storage on flash: all items are in memory\n", code .. " " .. err)
        assert.equal(3, (ctl.run("set ext_item_age=5")))
    end)
end)

describe("the pages on flash", function()
    it("are listed by the items written to them, free ones by their purpose", function()
        local lines = {}
        for id, page in ipairs({ { 7, 900, 0, 0 }, { 8, 300, 1, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 1 },
            { 9, 500, 99, 99 } }) do
            for i, field in ipairs({ "version", "bytes", "bucket", "free_bucket" }) do
                lines[#lines + 1] = ("STAT %d:%s %d"):format(id - 1, field, page[i])
            end
        end
        lines[#lines + 1] = "STAT nonsense"
        assert.same({
            { name = "default", pages = 2, pages_free = 1, used_bytes = 900, fill_ratio = 0.9, sparse_pages = 0 },
            { name = "compact", pages = 2, pages_free = 1, used_bytes = 300, fill_ratio = 0.3, sparse_pages = 1 },
        }, storage.buckets(lines, 1000, 0.8))
        assert.same({}, storage.buckets({}, nil, nil))
    end)
end)

describe("the overview of a server with storage on flash", function()
    it("shows the items' memory, without the values on flash that memcached counts", function()
        local general = { bytes = 40 << 20, limit_maxbytes = 16 << 20, extstore_bytes_used = 32 << 20 }
        local overview = view.overview(snapshots.make(1000, {}, general))
        assert.same({ 8 << 20, 0.5 }, { overview.used_bytes, overview.used_ratio })
        general.extstore_bytes_used = nil
        assert.equal(40 << 20, view.overview(snapshots.make(1000, {}, general)).used_bytes)
    end)
end)

describe("slatetop on a recording with storage on flash", function()
    it("has the doctor's findings", function()
        local general = { extstore_limit_maxbytes = 64 << 20, extstore_pages_used = 32, extstore_pages_free = 0,
            extstore_objects_used = 3200, extstore_bytes_fragmented = 32 << 20, extstore_memory_pressure = 12.5,
            cmd_get = 0, get_hits = 0, cmd_set = 0 }
        local settings = { ext_max_frag = 0.8, ext_compact_under = 1, ext_item_size = 512, ext_drop_unread = false }
        local before = snapshots.make(1000, {}, general, settings)
        local now = snapshots.make(1001, {}, general, settings)
        local text = snapshots.in_slatetop({ before, now })
        for _, finding in ipairs(doctor.findings({ now = now, before = before })) do
            assert.truthy(text:find(finding.what, 1, true), finding.what .. "\n" .. text)
        end
        assert.truthy(text:find("no page of the storage on flash is free", 1, true), text)
    end)
end)

describe("the doctor on storage on flash", function()
    local STEADY <const> = { extstore_limit_maxbytes = 100 << 20, extstore_pages_used = 40, extstore_pages_free = 60,
        extstore_objects_used = 4000, extstore_objects_read = 1000, extstore_bytes_fragmented = 0,
        extstore_page_evictions = 0, extstore_objects_evicted = 0, extstore_compact_lost = 0,
        extstore_compact_skipped = 0, extstore_io_queue = 0, badcrc_from_extstore = 0, get_oom_extstore = 0,
        evictions = 0, curr_items = 9000 }
    local SETTINGS <const> = { ext_item_size = 512, ext_max_frag = 0.8, ext_drop_unread = false, ext_compact_under = 1,
        slab_automove = 1 }

    local function with(fields, more)
        local all = {}
        for _, part in ipairs({ fields, more or {} }) do
            for name, value in pairs(part) do
                all[name] = value
            end
        end
        return all
    end

    -- The findings on storage a second later, with these statistics changed; was: changed at first, too.
    local function findings(changed, was, settings, classes)
        local before = snapshots.make(1000, classes and classes[1] or {}, with(STEADY, was), SETTINGS)
        local now = snapshots.make(1001, classes and classes[2] or {}, with(STEADY, changed), with(SETTINGS, settings))
        local list = {}
        for _, finding in ipairs(doctor.findings({ now = now, before = before })) do
            if finding.name:find("^storage_") then
                list[#list + 1] = ("%s %s: %s -> %s"):format(finding.name, finding.severity, finding.what, finding.todo)
            end
        end
        return table.concat(list, "\n")
    end

    local function finds(pattern, ...)
        local text = findings(...)
        assert.truthy(text:find(pattern), text)
        assert.is_nil(text:find("\n"), text)
    end

    it("finds nothing where all is well, nor where there is none", function()
        assert.equal("", findings())
        assert.equal("", findings({ extstore_limit_maxbytes = false, extstore_pages_free = 0 }))
    end)

    it("finds reads that fail, before all else", function()
        finds("^storage_reads critical: 3 values a second .* wrong checksum", { badcrc_from_extstore = 3 })
        finds("^storage_reads warning: 2 gets a second find no memory", { get_oom_extstore = 2 })
        finds("^storage_reads warning: compaction loses 5 objects", { extstore_compact_lost = 5 })
    end)

    it("finds reads that wait for a tenth of a second, at both ends of the interval", function()
        local fast = { extstore_objects_read = 2000, extstore_io_queue = 100 }
        finds("^storage_queue warning: 100 reads wait for the flash, each some 0.1 s", fast,
            { extstore_io_queue = 200 })
        assert.equal("", findings(fast, { extstore_io_queue = 99 }))
        assert.equal("", findings(fast))
        finds("300 reads wait for the flash, and none is answered", { extstore_io_queue = 300 },
            { extstore_io_queue = 300 })
    end)

    it("finds that flash is full, and that compaction is behind where it has work", function()
        local full = { extstore_pages_used = 100, extstore_pages_free = 0 }
        finds("^storage_pages note: no page .* the next one evicts some 40 objects .*drop_unread yes", full)
        finds("^storage_pages note: storage on flash is full: it evicts 80 objects a second",
            with(full, { extstore_page_evictions = 2, extstore_objects_evicted = 80 }))
        finds("ext_max_frag 0.95 .now 0.80", with(full, { extstore_bytes_fragmented = 10 << 20 }), nil,
            { ext_drop_unread = true })
        finds("a larger ext_path, or write less", full, nil, { ext_drop_unread = true })
        finds("^storage_pages warning: .*compaction is behind.*ext_compact_under 2 .now 1",
            with(full, { extstore_bytes_fragmented = 21 << 20 }))
    end)

    it("finds a quarter of holes, and whether compaction is to take them", function()
        local holes = { extstore_pages_used = 60, extstore_pages_free = 40, extstore_bytes_fragmented = 15 << 20 }
        finds("^storage_holes note: 25%% of .* 15 MiB .* ext_compact_under 41 begins now", holes)
        finds("compaction is under way", holes, nil, { ext_compact_under = 41 })
        assert.equal("", findings(with(holes, { extstore_bytes_fragmented = 14 << 20 })))
        assert.equal("", findings(with(holes, { extstore_pages_used = 40, extstore_pages_free = 60 })))
    end)

    it("finds items dropped unread, and evictions from memory while flash has room", function()
        finds("^storage_unread note: compaction drops 9 objects a second", { extstore_compact_skipped = 9 })
        local function evicted_of(chunk_bytes)
            local class = { chunk_size = chunk_bytes, chunks_per_page = 100, total_pages = 4, used_chunks = 400,
                number = 400, age = 100, evicted = 0 }
            return { { [3] = class }, { [3] = with(class, { evicted = 50 }) } }
        end
        finds("^storage_idle note: the server evicts 50 items a second .* 60 pages of flash are free.* smaller than "
            .. "ext_item_size %(512%)", { evictions = 50 }, nil, nil, evicted_of(96))
        finds("writing does not keep up", { evictions = 50 }, nil, nil, evicted_of(1184))
        assert.equal("", findings({ evictions = 50, extstore_pages_free = false }, { extstore_pages_free = false }))
    end)
end)
