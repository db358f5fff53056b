-- SPDX-License-Identifier: BSD-3-Clause
-- slatectl curve on servers that are tables of answers: sizes with their bands, and how predictions came true.
local canned = require "support.canned"
local dkjson = require "dkjson"
local sampled = require "slate.facts.sampled"

local TOLD <const> = [[
STAT bytes 67108864
STAT reads 12034
STAT first_reads 1203
STAT lru_hit_ratio 0.7000
STAT lacks nothing
STAT predictions 2
STAT predictions_within 1
STAT hit_ratio_x0.5 0.6310
STAT hit_ratio_x1 0.7129
STAT hit_ratio_x2 0.7900
STAT hit_ratio_x4 0.8900
STAT band_x0.5 0.0208
STAT band_x2 0.0200
STAT band_x4 0.1500
STAT point:8388608 0.4000
STAT band:8388608 0.0100
STAT point:67108864 0.7000
STAT band:67108864 0.0200
STAT point:536870912 0.9000
]]

local function lines_of(text)
    local lines = {}
    for line in text:gmatch("[^\n]+") do lines[#lines + 1] = line end
    return lines
end

describe("a curve of slated", function()
    it("has the least and the most of each size but today's, within 0 and 1", function()
        local curve = sampled.parse_curve(lines_of(TOLD))
        local rounded = {}
        for i, size in ipairs(curve.sizes) do
            rounded[i] = { size[1], size[2], size[3] and tonumber(("%.4f"):format(size[3])), size[4]
                and tonumber(("%.4f"):format(size[4])) }
        end
        assert.same({ { 0.5, 0.631, 0.6102, 0.6518 }, { 1, 0.7129 }, { 2, 0.79, 0.77, 0.81 }, { 4, 0.89, 0.74, 1 } },
            rounded)
        assert.same({ 2, 1 }, { curve.predictions, curve.predictions_within })
        assert.is_nil(curve.lacks)
    end)

    it("has the bands of the LRU model, and takes its error from them where there are no miniatures", function()
        local curve = sampled.parse_curve(lines_of((TOLD:gsub("STAT hit_ratio_x%S+ %S+\n", ""))))
        assert.same({ "0.39", "0.41", "0.68", "0.72" }, { ("%.2f"):format(curve.points[1][3]), ("%.2f"):format(
            curve.points[1][4]), ("%.2f"):format(curve.points[2][3]), ("%.2f"):format(curve.points[2][4]) })
        assert.is_nil(curve.points[3][3])
        local _, error_ratio = sampled.gain_at(curve, 1)
        assert.equal("0.0102", ("%.4f"):format(error_ratio))
    end)

    it("says how many misses are first reads, and is too young while these are most of them", function()
        local curve = sampled.parse_curve(lines_of(TOLD))
        assert.equal("10.0 of 30.0 points of misses are first reads: no memory brings them",
            sampled.first_reads_words(curve))
        curve.first_reads = 1900
        assert.is_true(sampled.is_young(curve))
        assert.matches("; the sample is too young to tell what more memory would bring$",
            sampled.first_reads_words(curve))
        curve.first_reads = nil
        assert.is_nil(sampled.first_reads_words(curve))
        curve.compulsory_ratio = 0.12
        assert.equal("12.0 of 30.0 points of misses are of new or expired keys: no memory brings them",
            sampled.first_reads_words(curve))
    end)

    it("says nothing of first reads before hits are known, as if all reads missed", function()
        local curve = sampled.parse_curve(lines_of(TOLD))
        curve.lru_hit_ratio = 0
        assert.is_nil(sampled.first_reads_words(curve))
        curve.first_reads = curve.reads
        assert.matches("the sample is too young$", sampled.first_reads_words(curve))
    end)

    it("has no band without a complete one from the server", function()
        local told = TOLD:gsub("band_x2 0.0200", "band_x2 nan"):gsub("STAT band_x4.-\n", "")
        local curve = sampled.parse_curve(lines_of(told))
        assert.equal(4, #curve.sizes)
        assert.is_nil(curve.sizes[3][3] or curve.sizes[4][3])
    end)
end)

describe("slatectl curve", function()
    local WHATIF <const> = "STAT sampling 1\r\nSTAT policy s3fifo\r\nSTAT rate 0.004800\r\nSTAT keys 2270\r\n"
        .. "STAT real_hit_ratio 0.7201\r\nEND"

    -- general: lines of `stats`; by default those of a cache that evicts.
    local function run(told, arguments, general, slabs)
        local one = canned.new({}, {
            version = "VERSION 1.6.45",
            stats = (general or "STAT limit_maxbytes 67108864\r\nSTAT evictions 12") .. "\r\nEND",
            ["stats slated"] = "STAT slated_version 0.1.0\r\nEND", ["stats whatif"] = WHATIF, ["stats slabs"] = slabs,
            ["stats curve"] = told:gsub("\n", "\r\n") .. "END", ["stats curve 5"] = told:gsub("\n", "\r\n") .. "END",
        })
        one:install()
        local words = { "curve" }
        for word in (arguments or ""):gmatch("%S+") do words[#words + 1] = word end
        return one:slatectl(words, {})
    end

    it("shows each size with its band and its gain, the sample, and the outcome of predictions", function()
        local code, out, err = run(TOLD)
        assert.equal(0, code, err)
        for _, pattern in ipairs({
            "memory +64 MiB\n", "sampled +12034 reads; 2270 keys, 0%.480%% of all\n",
            "hits lately +72%.01%%, counted\n",
            "first reads +10%.0 of 28%.0 points of misses are first reads: no memory brings them\n",
            "predictions +1 of 2 earlier ones came true within the band %(19 of 20 expected%)\n",
            "\nTIMES +MEMORY +HITS, S3FIFO +95%% BAND +POINTS\n",
            "\nx0%.5 +32 MiB +63%.10%% +61%.02 to 65%.18%% +%-8%.19\n", "\nx1 +64 MiB +71%.29%% +counted *\n",
            "\nx2 +128 MiB +79%.00%% +77%.00 to 81%.00%% +%+7%.71\n",
            "\nx4 +256 MiB +89%.00%% +74%.00 to 100%.00%% +%+17%.71\n",
        }) do
            assert.truthy(out:find(pattern), pattern .. "\n" .. out)
        end
        assert.is_nil(out:find("not full", 1, true) or out:find("yet", 1, true))
        out = select(2, run((TOLD:gsub("predictions 2", "predictions 0"):gsub("within 1", "within 0"))))
        assert.truthy(out:find("\npredictions +none compared yet: that takes a change of the memory or "), out)
        out = select(2, run((TOLD:gsub("STAT [%w.]*band.-\n", ""):gsub("STAT predictions.-\n", ""))))
        assert.truthy(out:find("\nx2 +128 MiB +79%.00%% +%- +%+7%.71\n") and not out:find("predictions", 1, true), out)
    end)

    it("says why more memory brings nothing: the cache is not full yet", function()
        local why = "\nthe cache is not full yet, it has 64 MiB of 128 MiB: more memory would bring nothing\n"
        local unfilled = "STAT limit_maxbytes 134217728\r\nSTAT evictions 0"
        local _, out = run(TOLD, "", unfilled)
        assert.truthy(out:find("memory +64 MiB of 128 MiB\n") and out:find(why, 1, true), out)
        _, out = run(TOLD, "--json", unfilled)
        assert.same({ 134217728, false }, { dkjson.decode(out).bytes_limit, dkjson.decode(out).full })
        for name in pairs(dkjson.decode(out)) do assert.is_nil(name:find("[.:]"), name) end
        for _, general in ipairs({ "STAT limit_maxbytes 67108864\r\nSTAT evictions 0",
            "STAT limit_maxbytes 134217728\r\nSTAT evictions 1", "STAT evictions 0" }) do
            _, out = run(TOLD, "", general)
            assert.is_nil(out:find("not full", 1, true), general)
        end
        _, out = run(TOLD, "5", unfilled)
        assert.is_nil(out:find("not full", 1, true), "a class is not the cache")
    end)

    it("has no hits with more memory, in text and JSON, where advise memory tells no gain", function()
        local young = TOLD:gsub("first_reads 1203", "first_reads 9000")
        local _, out = run(young)
        assert.truthy(out:find("; the sample is too young to tell what more memory would bring\n", 1, true), out)
        assert.truthy(out:find("\nx0%.5 +32 MiB +63%.10%%") and out:find("\nx2 +128 MiB +%- +%- +%-\n"), out)
        local curve = dkjson.decode((select(2, run(young, "--json"))), 1, dkjson.null)
        assert.same({ { 1, 0.7129 }, { 2, dkjson.null, dkjson.null, dkjson.null } }, { curve.sizes[2], curve.sizes[3] })
        assert.matches("the sample is too young", curve.without_gain)
        assert.is_nil(dkjson.decode((select(2, run(TOLD, "--json")))).without_gain)
    end)

    it("names the missing condition in place of figures", function()
        local code, out = run((TOLD:gsub("STAT hit_ratio_x.-\n", ""):gsub("lacks nothing",
            "lacks 40 of 64 keys are in the sample")))
        assert.equal(0, code)
        local lacks = "\nthe hit ratio of the cache's policy with other memory is not known yet: "
            .. "40 of 64 keys are in the sample\n"
        assert.truthy(out:find(lacks, 1, true), out)
        assert.is_nil(out:find("80% BAND", 1, true))
        assert.truthy(out:find("\npredictions +1 of 2 ") and out:find("HITS, LRU MODEL", 1, true), out)
    end)

    it("has no memory below the page that each class keeps, and of x1 the memory held", function()
        local slabs = {}
        for id = 1, 100 do slabs[id] = ("STAT %d:chunk_size 96\r\nSTAT %d:total_pages 1"):format(id, id) end
        local held = TOLD:gsub("STAT reads", "STAT used_bytes 104857600\nSTAT reads")
        local code, out = run(held, "", nil, table.concat(slabs, "\r\n") .. "\r\nEND")
        assert.equal(0, code)
        local why = "\neach of 100 classes keeps a page: the server holds at least 100 MiB\n"
        assert.truthy(out:find(why, 1, true), out)
        assert.truthy(out:find("\nx1 +100 MiB +71%.29%% +counted"), out)
        assert.is_nil(out:find("x0.5", 1, true) or out:find("8 MiB +40%.00%%"), out)
        assert.truthy(out:find("\nx2 +128 MiB +79%.00%%"), out)
    end)

    it("says that an answer cannot be read", function()
        for _, told in ipairs({ "STAT reads 5\n", "STAT bytes x\nSTAT reads 5\n", "STAT bytes 5\n" }) do
            local code, out, err = run(told)
            assert.same({ 69, "" }, { code, out })
            assert.truthy(err:find("the server's curve cannot be read", 1, true), err)
        end
    end)

    it("names for a memcached the missing feature, and the server that has it", function()
        local one = canned.new({}, { version = "VERSION 1.6.45" })
        one:install()
        local code, out, err = one:slatectl({ "curve" }, {})
        assert.equal(3, code)
        assert.equal("", out)
        for _, words in ipairs({ "curve needs slated: this server samples no keys", "slatectl chart curve --live",
            "slatectl capture -o day.trace.gz", "slatectl simulate day.trace.gz --memory 512m,1g,2g" }) do
            assert.truthy(err:find(words, 1, true), err)
        end
    end)
end)

describe("slatectl whatif --classes", function()
    -- Of class 5 the miniature of lru hits as the class does, of class 6 not; class 7 has too few reads.
    local function run(...)
        local lines = { "STAT policy s3fifo", "STAT rate 0.01", "STAT real_hit_ratio 0.5" }
        for prefix, lru in pairs({ [""] = 0.5, ["class:5:"] = 0.5, ["class:6:"] = 0.8, ["class:7:"] = 0.5 }) do
            for policy, ratio in pairs({ lru = lru, s3fifo = 0.5 }) do
                local name = prefix .. policy
                lines[#lines + 1] = ("STAT %s:hit_ratio %g\r\nSTAT %s:difference %g\r\nSTAT %s:doubt 0\r\n"
                    .. "STAT %s:reads %d"):format(name, ratio, name, ratio - 0.5, name, name,
                    prefix == "class:7:" and 30 or 600)
            end
        end
        local answers = { version = "VERSION 1.6.45", stats = "END",
            ["stats slated"] = "STAT slated_version 0.1.0\r\nEND",
            ["stats whatif"] = table.concat(lines, "\r\n") .. "\r\nEND" }
        for id = 5, 7 do
            answers["stats curve " .. id] = "STAT bytes 1048576\r\nSTAT reads 600\r\nSTAT point:1048576 0.5\r\n"
                .. "STAT point:2097152 0.6\r\nEND"
        end
        local one = canned.new({}, answers)
        one:install()
        local code, out, err = one:slatectl({ "whatif", "--classes", ... }, {})
        assert.equal(0, code, err)
        return out
    end

    it("has the figures of a class, or why they are not known, in text and JSON", function()
        local out, list = run(), dkjson.decode(run("--json")).classes
        assert.truthy(out:find("\nclass 5\n.-\nlru +50%.00%% +%+0%.00 +0%.50 +600\n"), out) -- 3 of 600 reads may differ
        local unlike = "the miniature of lru hits 80.0%, the class with its own pages 50.0%"
        assert.truthy(out:find("\nother policies are not known for these classes; a trial tells: slatectl trial "
            .. "class_policy='POLICY CLASS' --for 5m\nclass 6  " .. unlike
            .. "\nclass 7  too few reads of the class were sampled\n", 1, true), out)
        assert.same({ 5, 2, 6, 0, unlike, 7, 0, "too few reads of the class were sampled" }, { list[1].class,
            #list[1].policies, list[2].class, #list[2].policies, list[2].unknown, list[3].class, #list[3].policies,
            list[3].unknown })
        for _, one in ipairs(list[1].policies) do
            assert.equal(one.policy == "lru" and 0.005 or 0, one.doubt)
        end
    end)
end)
