-- SPDX-License-Identifier: BSD-3-Clause
-- `stats forecast` as tables, and slatectl forecast on servers that are tables of answers.
package.path = "lua/?.lua;tests/spec/?.lua;" .. package.path
local canned = require "support.canned"
local dkjson = require "dkjson"
local forecast = require "slate.facts.forecast"

local TOLD <const> = [[
STAT enough yes
STAT lacks nothing
STAT reads 12034
STAT made 20
STAT came 2
STAT within 1
STAT x0.5:hit_ratio 0.6310
STAT x0.5:low 0.6102
STAT x0.5:high 0.6518
STAT x1:hit_ratio 0.7129
STAT x1:low 0.7129
STAT x1:high 0.7129
STAT x2:hit_ratio 0.7900
STAT x2:low 0.7700
STAT x2:high 0.8100
STAT x4:hit_ratio 0.8200
STAT x4:low 0.7800
STAT x4:high 0.8600
STAT 17:time 1795303400
STAT 17:was 67108864
STAT 17:is 83886080
STAT 17:before 0.7000
STAT 17:expected 0.7200
STAT 17:band 0.0100
STAT 17:reached 0.7250
STAT 17:state came
STAT 18:time 1795303500
STAT 18:was s3fifo
STAT 18:is lru
STAT 18:before 0.7200
STAT 18:expected 0.7000
STAT 18:band 0.0100
STAT 18:reached 0.6700
STAT 18:state came
STAT 19:time 1795303600
STAT 19:was lru
STAT 19:is s3fifo
STAT 19:before 0.6700
STAT 19:expected 0.7000
STAT 19:band 0.0100
STAT 19:reached 0.0000
STAT 19:state overtaken
STAT 20:time 1795303700
STAT 20:was 83886080
STAT 20:is 67108864
STAT 20:before 0.7200
STAT 20:expected 0.7000
STAT 20:band 0.0100
STAT 20:reached 0.0000
STAT 20:state waits
]]

local function lines_of(text)
    local lines = {}
    for line in text:gmatch("[^\n]+") do
        lines[#lines + 1] = line
    end
    return lines
end

describe("slate.facts.forecast", function()
    it("has the sizes in order, each with its band", function()
        local told = forecast.parse(lines_of(TOLD))
        assert.is_true(told.is_enough)
        assert.is_nil(told.lacks)
        assert.same({ 12034, 20, 2, 1 }, { told.reads, told.made, told.came, told.within })
        assert.same({ { times = 0.5, hit_ratio = 0.631, low = 0.6102, high = 0.6518 },
            { times = 1, hit_ratio = 0.7129, low = 0.7129, high = 0.7129 },
            { times = 2, hit_ratio = 0.79, low = 0.77, high = 0.81 },
            { times = 4, hit_ratio = 0.82, low = 0.78, high = 0.86 } }, told.sizes)
    end)

    it("tells what was expected of a change, and what came of it", function()
        local changes = forecast.parse(lines_of(TOLD)).changes
        assert.equal(4, #changes)
        assert.same({ number = 17, time_s = 1795303400, what = "maxbytes", was = 64 << 20, is = 80 << 20, before = 0.7,
            expected = 0.72, band = 0.01, state = "came", reached = 0.725, is_within = true }, changes[1])
        assert.same({ "policy", "s3fifo", "lru", false },
            { changes[2].what, changes[2].was, changes[2].is, changes[2].is_within })
        for i = 3, 4 do -- reached says 0 until it came
            assert.is_nil(changes[i].reached)
            assert.is_nil(changes[i].is_within)
        end
    end)

    it("has no figures before there is enough, whatever else is told", function()
        local told = forecast.parse(lines_of((TOLD:gsub("enough yes", "enough no"):gsub("lacks nothing",
            "lacks 40 of 64 keys are in the sample"))))
        assert.is_false(told.is_enough)
        assert.equal("40 of 64 keys are in the sample", told.lacks)
        assert.same({}, told.sizes)
        assert.equal(4, #told.changes)
    end)

    it("leaves out what is not told whole, or cannot be", function()
        local told = forecast.parse(lines_of((TOLD:gsub("STAT x2:low 0.7700\n", ""):gsub("17:time 1795303400",
            "17:time 99999999999999"):gsub("18:expected 0.7000", "18:expected nan"):gsub("20:is 67108864",
            "20:is 99999999999999999999"))))
        assert.equal(3, #told.sizes)
        assert.equal(1, #told.changes)
        assert.equal(19, told.changes[1].number)
    end)
end)

describe("slatectl forecast", function()
    local WHATIF <const> = "STAT sampling %d\r\nSTAT policy s3fifo\r\nSTAT auto 0\r\nSTAT s3auto 1\r\n"
        .. "STAT rate 0.004800\r\nSTAT keys %d\r\nSTAT why %s\r\nEND"
    local CURVE <const> = "STAT bytes 67108864\r\nSTAT reads 12034\r\nSTAT lru_hit_ratio 0.7000\r\nEND"

    -- general: lines of `stats`; by themselves, of a cache that evicts.
    local function run(told, arguments, sampling, keys, why, general)
        local one = canned.new({}, {
            version = "VERSION 1.6.45",
            stats = (general or "STAT limit_maxbytes 67108864\r\nSTAT evictions 12") .. "\r\nEND",
            ["stats settings"] = "END", ["stats slabs"] = "END", ["stats items"] = "END",
            ["stats slated"] = "STAT slated_version 0.1.0\r\nEND",
            ["stats forecast"] = told:gsub("\n", "\r\n") .. "END",
            ["stats whatif"] = WHATIF:format(sampling or 1, keys or 2270, why or "nothing was better"),
            ["stats curve"] = CURVE,
        })
        one:install()
        local words = { "forecast" }
        for word in (arguments or ""):gmatch("%S+") do
            words[#words + 1] = word
        end
        return one:slatectl(words, {})
    end

    it("shows each size with its band, the sample, and what came true", function()
        local code, out, err = run(TOLD)
        assert.equal(0, code, err)
        for _, pattern in ipairs({
            "memory +64M\n", "policy +s3fifo, chosen by s3auto\n",
            "sample +2270 keys, 0%.480%% of all, and 12034 reads; old ones count less\n",
            "forecasts +1 of 2 came true within the band, where four of five are meant to\n",
            "\nTIMES +MEMORY +HITS +80%% BAND +POINTS\n",
            "\nx0%.5 +32M +63%.10%% +61%.02 to 65%.18%% +%-8%.19\n", "\nx1 +64M +71%.29%% +counted *\n",
            "\nx2 +128M +79%.00%% +77%.00 to 81%.00%% +%+7%.71\n",
            "\nx4 +256M +82%.00%% +78%.00 to 86%.00%% +%+10%.71\n",
            "64M to 80M +70%.00%% +72%.00%% +1%.00 +72%.50%% +within\n",
            "s3fifo to lru +72%.00%% +70%.00%% +1%.00 +67%.00%% +beyond\n",
            "lru to s3fifo +67%.00%% +70%.00%% +1%.00 +%- +overtaken\n",
            "80M to 64M +72%.00%% +70%.00%% +1%.00 +%- +waits\n",
            "\novertaken: another change came before the cache had settled, so nothing was compared\n",
            "\nwaits: the cache has not settled since the change\n",
        }) do
            assert.truthy(out:find(pattern), pattern .. "\n" .. out)
        end
        assert.is_nil(out:find("not full", 1, true))
        out = select(2, run((TOLD:gsub("overtaken", "came"):gsub("waits", "came"))))
        assert.is_nil(out:find("overtaken", 1, true) or out:find("waits", 1, true))
    end)

    it("says why more memory brings nothing: the cache is not full yet", function()
        local why = "\nthe cache is not full yet, it has 64M of 128M: more memory would bring nothing\n"
        local unfilled = "STAT limit_maxbytes 134217728\r\nSTAT evictions 0"
        local _, out = run(TOLD, "", 1, 2270, nil, unfilled)
        assert.truthy(out:find("memory +64M of 128M\n") and out:find(why, 1, true), out)
        _, out = run((TOLD:gsub("enough yes", "enough no")), "", 1, 0, nil, unfilled)
        assert.truthy(out:find(why, 1, true), out)
        _, out = run(TOLD, "--json", 1, 2270, nil, unfilled)
        assert.same({ 134217728, false }, { dkjson.decode(out).bytes_limit, dkjson.decode(out).full })
        for _, general in ipairs({ "STAT limit_maxbytes 67108864\r\nSTAT evictions 0",
            "STAT limit_maxbytes 134217728\r\nSTAT evictions 1", "STAT evictions 0" }) do
            _, out = run(TOLD, "", 1, 2270, nil, general)
            assert.is_nil(out:find("not full", 1, true), general)
        end
    end)

    local function lacking(lacks)
        return (TOLD:gsub("enough yes", "enough no"):gsub("lacks nothing", "lacks " .. lacks))
    end

    it("says what is lacking in the place of figures", function()
        local code, out = run(lacking("40 of 64 keys are in the sample"), "", 1, 40)
        assert.equal(0, code)
        assert.truthy(out:find("\nnot enough yet: 40 of 64 keys are in the sample\n", 1, true), out)
        assert.is_nil(out:find("80% BAND", 1, true))
        assert.truthy(out:find("\nearlier forecasts\n", 1, true), out)
        code, out = run(lacking("nothing is sampled"), "", 0, 0, "nothing is sampled: sample_rate is 0")
        assert.equal(0, code)
        assert.truthy(out:find("\nno forecast: nothing is sampled: sample_rate is 0\n", 1, true), out)
        assert.truthy(out:find("\nsample +none\n"), out)
        code, out = run(lacking("the cache changed a moment ago"))
        assert.equal(0, code)
        assert.truthy(out:find("\nno forecast yet: the cache changed a moment ago\n", 1, true), out)
    end)

    it("writes JSON, lines of it and CSV", function()
        local _, out = run(TOLD, "--json")
        local told = assert(dkjson.decode(out))
        assert.same({ "slate/forecast/1", true, "s3fifo", 67108864, 2270, 12034, 20, 2, 1, 4, 4 },
            { told.schema, told.enough, told.policy, told.bytes, told.keys, told.reads, told.made, told.came,
            told.within, #told.sizes, #told.changes })
        assert.same({ times = 0.5, memory_bytes = 33554432, hit_ratio = 0.631, low = 0.6102, high = 0.6518 },
            told.sizes[1])
        _, out = run(TOLD, "--csv")
        assert.truthy(out:find("^server,time_s,times,memory_bytes,hit_ratio,low,high\n"), out)
        assert.truthy(out:find(",2,134217728,0.79,0.77,0.81\n", 1, true), out)
        _, out = run(TOLD, "--jsonl")
        assert.equal(4, select(2, out:gsub('"hit_ratio"', "")))
        _, out = run(lacking("0 of 64 keys are in the sample"), "--json")
        assert.truthy(out:find('"sizes":[]', 1, true) and out:find('"lacks":"0 of 64 keys', 1, true), out)
    end)

    it("says of a memcached what is lacking, and what would tell it", function()
        local one = canned.new({}, { version = "VERSION 1.6.45" })
        one:install()
        local code, out, err = one:slatectl({ "forecast" }, {})
        assert.equal(3, code)
        assert.equal("", out)
        for _, words in ipairs({ "a forecast needs slated, which samples keys: this server samples none",
            "slatectl capture -o day.trace.gz", "slatectl simulate day.trace.gz --memory 512m,1g,2g" }) do
            assert.truthy(err:find(words, 1, true), err)
        end
    end)

    it("says that an answer cannot be read", function()
        local code, _, err = run("STAT enough yes\nSTAT reads x\n")
        assert.equal(69, code)
        assert.truthy(err:find("the server's forecasts cannot be read", 1, true), err)
    end)
end)
