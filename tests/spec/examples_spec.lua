-- SPDX-License-Identifier: BSD-3-Clause
-- man/examples: each file works with the program that it is written for.
local command = require "support.command"
local json = require "cjson"
local server = require "support.server"
local socket = require "socket"

local FOLDER <const> = "man/examples/"

local function text_of(name) return (assert(server.read_file(FOLDER .. name), name)) end

local function has(program) return os.execute("command -v " .. program .. " >/dev/null 2>&1") == true end

local function expressions(panels)
    local list = {}
    for _, panel in ipairs(panels) do
        for _, target in ipairs(panel.targets) do list[#list + 1] = target.expr end
    end
    return list
end

describe("the example", function()
    local ctl, page, one

    -- A page of metrics as a scraper of a busy slated sees it; sampled figures need requests and a moment.
    setup(function()
        assert(server.slated(), "there is no slated: run make first")
        one = server.start({ args = { "-m", "8", "-o", "sample_rate=1" } })
        ctl = command.new({ server = one.address })
        -- Reads go on until the page is whole: a prediction takes a turnover of the cache and a thousand sampled reads.
        os.execute(("build/bin/slate-load --server %s --duration 120 --rate 8000 --keys 20000 --sizes 1000 "
            .. "--dist zipf:0.9 --reads 80 --fill-on-miss >%s/load 2>&1 & echo $! >%s/load-pid"):format(
            server.quoted(one.address), ctl.folder, ctl.folder))
        os.execute(("cd %s; : >err; env --default-signal=INT SLATE_SERVER=%s %s/scripts/slatectl export "
            .. "prometheus --listen :0 --hotkeys 3 >out 2>err & echo $! >pid"):format(ctl.folder, one.address,
            ctl.root))
        local function scrape()
            local port = command.read_file(ctl.folder .. "/err"):match("127.0.0.1:(%d+)/metrics")
            local peer = port and socket.connect("127.0.0.1", tonumber(port))
            if not peer then
                return ""
            end
            peer:settimeout(60)
            peer:send("GET /metrics HTTP/1.1\r\n\r\n")
            local text = peer:receive("*a")
            peer:close()
            return text or ""
        end
        for _ = 1, 600 do
            page = scrape()
            if page:find("\nslate_class_starving{", 1, true) and page:find("\nslate_predicted_hit_ratio{", 1, true)
                and page:find("\nslate_policy_hit_ratio{", 1, true)
                and page:find("\nslate_hotkey_requests{", 1, true) then
                break
            end
            socket.sleep(0.1)
        end
        os.execute("kill " .. command.read_file(ctl.folder .. "/pid"))
        os.execute("kill " .. command.read_file(ctl.folder .. "/load-pid") .. " 2>/dev/null")
    end)
    teardown(function()
        local pid = tonumber(command.read_file(ctl.folder .. "/pid"))
        for _ = 1, 6000 do
            if not server.is_running(pid) then
                break
            end
            socket.sleep(0.01)
        end
        one:stop()
        ctl.remove()
    end)

    -- Every metric of ours or of memcached_exporter in the example is on the page.
    local function assert_known(expression, own)
        local count = 0
        for name in expression:gmatch("%f[%w_:][%a_:][%w_:]*") do
            if (name:find("^slate_") or name:find("^memcached_")) and not name:find(":", 1, true) then
                assert.truthy(page:find("\n" .. name .. "[ {]"), name .. " is not on the page of " .. own)
                count = count + 1
            end
        end
        return count
    end

    it("slated.conf is taken by slated", function()
        assert.equal("slated: these options are good", server.capture(server.quoted(server.slated())
            .. " --check-config --config " .. FOLDER .. "slated.conf 2>&1 | head -1"))
    end)

    it("statefulset.yaml gives slated options that exist", function()
        local words = {}
        local args = text_of("statefulset.yaml"):match("\n +args:\n(.-)\n +ports:")
        for word in args:gmatch("%- (%S+)") do
            words[#words + 1] = server.quoted((word:gsub("=/cache/", "=" .. ctl.folder .. "/")))
        end
        assert.equal(7, #words)
        local out = server.capture(server.quoted(server.slated()) .. " --check-config " .. table.concat(words, " ")
            .. " 2>&1 | head -1")
        assert.equal("slated: these options are good", out)
        assert.is_nil(text_of("statefulset.yaml"):find("\t", 1, true), "YAML has no tabs")
    end)

    for image, its in pairs({ ["Dockerfile.slated"] = { user = 11211, "slated" },
        ["Dockerfile.slate-tools"] = { user = 65534, "slatetop", "slate-load" } }) do
        it(image .. " installs what its programs are linked with, and runs them as a user who has a number", function()
            local text = text_of(image)
            assert.truthy(text:find(("\nUSER %d\n"):format(its.user), 1, true))
            assert.is_true(image ~= "Dockerfile.slate-tools" or text:find("\nSTOPSIGNAL SIGINT\n", 1, true) ~= nil,
                "slatectl as process 1 gets no SIGTERM")
            if not (server.read_file("/etc/os-release") or ""):find("VERSION_CODENAME=bookworm", 1, true) then
                pending("the image is Debian 12's, this is none")
                return
            end
            local packages = text:match(".*\nFROM .-no%-install%-recommends \\\n(.-)&&"):gsub("[\\%s]+", " ")
            for _, program in ipairs(its) do
                for path in server.capture("ldd build/bin/" .. program):gmatch("=> (/%S+)") do
                    local short = path:gsub("^/usr", "") -- packages name libraries with or without this suffix
                    local owner = server.capture(("dpkg-query -S %s /usr%s 2>/dev/null | head -n 1"):format(short,
                        short)):match("^([^:]+)")
                    assert.is_true(owner == "libc6" or packages:find(" " .. tostring(owner) .. " ", 1, true) ~= nil,
                        ("%s wants %s of %s"):format(program, path, tostring(owner)))
                end
            end
        end)
    end

    -- The entry script finds these programs in place of its own: each prints its name, SLATED_OPTIONS and its words.
    local function entry(environment, words)
        local own = ctl.folder .. "/own"
        if not server.read_file(own .. "/slated") then
            os.execute("mkdir -p " .. own)
            server.write_file(own .. "/slated",
                "#!/bin/sh\nprintf '%s (%s)' \"${0##*/}\" \"$SLATED_OPTIONS\"\nprintf ' [%s]' \"$@\"\n")
            os.execute(("chmod +x %s/slated && cp %s/slated %s/other && ln -s slated %s/memcached")
                :format(own, own, own, own))
        end
        return server.capture(("cd %s && env -u SLATED_OPTIONS PATH=%s:$PATH %s %s/%sdocker-entrypoint.sh %s 2>&1; "
            .. "echo \" = $?\""):format(own, own, environment, ctl.root, FOLDER, words))
    end
    local BEGINS <const> = "slated (--config /etc/slated.conf ) "

    it("docker-entrypoint.sh gives slated the words of a container, under the name before them", function()
        for before, name in pairs({ [""] = "slated", slated = "slated", ["/run.sh"] = "slated",
            ["/opt/bitnami/scripts/memcached/run.sh"] = "slated", memcached = "memcached",
            ["/usr/local/bin/memcached"] = "memcached" }) do
            local begins = BEGINS:gsub("slated", name, 1)
            assert.equal(begins .. "[-m 8192] [-vv] [*] = 0", entry("", before .. " '-m 8192' -vv '*'"))
            assert.equal(begins .. "[] = 0", entry("", before))
        end
        assert.equal("slated (--config /etc/slated.conf -l ::1) [-c] [5] = 0", entry("SLATED_OPTIONS='-l ::1'", "-c 5"))
    end)

    it("docker-entrypoint.sh runs another command unchanged", function()
        assert.equal("other () [-m] [64] = 0", entry("MEMCACHED_CACHE_SIZE=32", "other -m 64"))
        assert.truthy(entry("", "no-such-command -m 64"):find("no-such-command: not found\n = 127", 1, true))
    end)

    it("docker-entrypoint.sh takes the variables of Bitnami's image before the words, which win", function()
        local all = "MEMCACHED_CACHE_SIZE=128 MEMCACHED_MAX_CONNECTIONS=2000 MEMCACHED_THREADS=2 "
            .. "MEMCACHED_MAX_ITEM_SIZE=5242880 MEMCACHED_PORT_NUMBER=11311 MEMCACHED_LISTEN_ADDRESS=::1 "
            .. "MEMCACHED_EXTRA_FLAGS='-v  -o idle_timeout=9,* '"
        local words = "[-l] [::1] [-p] [11311] [-m] [128] [-c] [2000] [-t] [2] [-I] [5242880] [-v] [-o] "
            .. "[idle_timeout=9,*]"
        assert.equal(BEGINS .. words .. " [] = 0", entry(all, "''"))
        assert.equal(BEGINS .. words .. " [-m] [64] = 0", entry(all, "-m 64"))
        assert.equal(BEGINS .. "[-m] [1 2] = 0", entry("MEMCACHED_CACHE_SIZE='1 2' MEMCACHED_THREADS=", ""))
        -- Kubernetes sets this variable for a service called memcached; it is no option
        assert.equal(BEGINS .. "[] = 0", entry("MEMCACHED_PORT=tcp://10.0.0.1:11211 MEMCACHED_SERVICE_PORT=1", ""))
    end)

    it("docker-entrypoint.sh starts no open server where a password is required", function()
        for _, name in ipairs({ "MEMCACHED_PASSWORD", "MEMCACHED_PASSWORD_FILE" }) do
            local said = entry(name .. "=x", "-m 64")
            assert.truthy(said:find("^slated: MEMCACHED_PASSWORD has no effect here: .* = 64$"), said)
        end
        assert.equal(BEGINS .. "[] = 0", entry("MEMCACHED_PASSWORD= MEMCACHED_USERNAME=root", ""))
    end)

    it("Dockerfile.slated makes a slated.conf that slated takes, for all addresses", function()
        local conf = text_of("Dockerfile.slated"):match("printf '([^']+)' >/etc/slated.conf"):gsub("\\n", "\n")
        assert.equal("listen = *\npublic\n", conf)
        server.write_file(ctl.folder .. "/image.conf", conf)
        assert.equal("slated: these options are good", server.capture(server.quoted(server.slated())
            .. " --check-config --config " .. ctl.folder .. "/image.conf 2>&1 | head -1"))
    end)

    it("the images of the examples have the version that is built", function()
        local version = server.read_file("Makefile"):match("\nVERSION := (%S+)")
        local count = 0
        for _, name in ipairs({ "statefulset.yaml", "values-cloudpirates.yaml", "values-grafana.yaml" }) do
            for tag in text_of(name):gmatch("\n%s*image: [%w-]+:(%S+)") do
                assert.equal(version, tag, name)
                count = count + 1
            end
            for tag in text_of(name):gmatch('\n%s*tag: "(%S+)"') do
                assert.equal(version, tag, name)
                count = count + 1
            end
        end
        assert.equal(4, count)
    end)

    it("alerts.yml has rules that promtool takes, over metrics that there are", function()
        local count = 0
        for expression in text_of("alerts.yml"):gmatch("\n +expr: ([^\n]+)") do
            count = count + assert_known(expression, "alerts.yml")
        end
        assert.is_true(count >= 10, "only " .. count .. " names were looked at")
        if not has("promtool") then
            pending("there is no promtool")
            return
        end
        assert.truthy(server.capture("promtool check rules " .. FOLDER .. "alerts.yml 2>&1"):find("SUCCESS: 9 rules"))
    end)

    it("alerts.yml calls when a class starves for ten minutes, and not before; it names each server of one exporter",
        function()
        if not has("promtool") then
            pending("there is no promtool")
            return
        end
        server.write_file(ctl.folder .. "/test.yml", ([[
rule_files: [%s/%salerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'slate_class_starving{instance="a",class="5"}', values: '1x30'}
      - {series: 'slate_class_starving{instance="a",class="6"}', values: '0x30'}
      - {series: 'slate_up{instance="a"}', values: '1x30'}
      - {series: 'slate_up{instance="b",server="cache:11211"}', values: '0x30'}
    alert_rule_test:
      - {eval_time: 9m, alertname: CacheClassStarves, exp_alerts: []}
      - eval_time: 11m
        alertname: CacheClassStarves
        exp_alerts:
          - exp_labels: {severity: warning, instance: a, class: "5"}
            exp_annotations:
              summary: "a: class 5 evicts young items while another class has pages to spare"
              description: "slatectl -s SERVER advise pages names the move of a page and its predicted gain."
      - eval_time: 20m
        alertname: CacheDown
        exp_alerts:
          - exp_labels: {severity: critical, instance: b, server: "cache:11211"}
            exp_annotations: {summary: "b cache:11211: the cache does not answer"}
      - {eval_time: 20m, alertname: CacheNotWatched, exp_alerts: []}
]]):format(ctl.root, FOLDER))
        local out = server.capture("promtool test rules " .. ctl.folder .. "/test.yml 2>&1")
        assert.truthy(out:find("SUCCESS", 1, true), out)
    end)

    it("grafana-dashboard.json is whole: panels that do not lie on each other, over metrics that there are", function()
        local board = json.decode(text_of("grafana-dashboard.json"))
        assert.equal("Slate: slab caches", board.title)
        local ids, cells = {}, {}
        for _, panel in ipairs(board.panels) do
            assert.is_nil(ids[panel.id])
            ids[panel.id] = true
            local at = panel.gridPos
            assert.is_true(at.x + at.w <= 24 and #panel.title > 0 and #panel.targets > 0)
            for x = at.x, at.x + at.w - 1 do
                for y = at.y, at.y + at.h - 1 do
                    assert.is_nil(cells[y * 24 + x], panel.title .. " lies on another")
                    cells[y * 24 + x] = true
                end
            end
        end
        local count = 0
        for _, expression in ipairs(expressions(board.panels)) do
            count = count + assert_known(expression, "grafana-dashboard.json")
        end
        assert.is_true(count >= 20, "only " .. count .. " names were looked at")
        local asked = board.templating.list[2].query.query:match("label_values%((.-),")
        assert.truthy(page:find("\n" .. asked .. " ", 1, true))
    end)

    it("grafana-dashboard.json has queries that Prometheus understands", function()
        if not has("promtool") then
            pending("there is no promtool")
            return
        end
        local lines = { "groups:", "  - name: dashboard", "    rules:" }
        for i, expression in ipairs(expressions(json.decode(text_of("grafana-dashboard.json")).panels)) do
            lines[#lines + 1] = ("      - record: panel:%d"):format(i)
            lines[#lines + 1] = "        expr: '" .. expression:gsub("%$__rate_interval", "5m") .. "'"
        end
        server.write_file(ctl.folder .. "/board.yml", table.concat(lines, "\n") .. "\n")
        local out = server.capture("promtool check rules " .. ctl.folder .. "/board.yml 2>&1")
        assert.truthy(out:find("SUCCESS", 1, true), out)
    end)
end)
