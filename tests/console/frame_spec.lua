-- The frame of slatetop: a server that hangs, dies or misbehaves; the past; the fleet; batch mode.
local real = require "support.server"
local replies = require "replies"
local tui = require "tui"

describe("slatetop's frame", function()
  local folder, server, screen

  local function open(arguments, width, height)
    screen = tui.open(folder, arguments, width, height, "XDG_CONFIG_HOME=" .. folder)
    return screen
  end

  local function write(path, lines) real.write_file(path, table.concat(lines, "\n") .. "\n") end

  -- Second i of a recording, of a server with so many MiB.
  local function sample(i, limit_mib, rest, ...)
    return ('{"schema":"slate/snapshot/1","time_s":%d,"server":"x","version":"1.6.45","slated":"0.1.0","general":'
      .. '{"pid":1,"uptime":%d,"limit_maxbytes":%d},"settings":{"slab_automove":0},%s}'):format(1000 + i, 9000 + i,
      limit_mib << 20, rest:format(...))
  end

  before_each(function()
    folder = tui.make_folder()
    server = tui.start_server("build/bin/slated", folder, "-o no_slab_automove")
  end)

  after_each(tui.clean)

  it("answers keys while the server hangs, and says how old the figures are", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:wait("evictions/s")
    server.hangs = true
    screen:step(6000)
    screen:press("2")
    assert.truthy(screen:text():find("classes by", 1, true))
    screen:press("1")
    assert.truthy(screen:text():find("STALE", 1, true))
    assert.truthy(screen:text():find("figures are", 1, true))
    screen:wait("DOWN")
    server.hangs = false
    screen:wait("live 1s")
  end)

  it("survives the death of the server and finds it again", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:wait("evictions/s")
    server:stop()
    screen:wait("DOWN")
    screen:wait("figures are")
    server:start()
    screen:wait("live 1s")
    screen:go("8", { "connected again", "restarted" })
  end)

  it("pauses, goes back and comes live again while sampling goes on", function()
    open("-d 0.2 " .. server.socket)
    screen:wait("live 0.2s")
    screen:wait("evictions/s")
    screen:go("Space", "PAUSED", { "Left", "Left", "m" }, "ago", { "D", "d" }, { "[d Diff]", "no class changed" },
      ".", "live 0.2s")
  end)

  it("replays its recording, from the given place, and skips lines that are no snapshot", function()
    server:fill("key", 1000, 100)
    local path = folder .. "/rec.jsonl"
    assert.equal(0, select(2, tui.batch(folder, ("-b -n 10 -d 0.1 -w %s %s"):format(path, server.socket))))
    tui.run(("echo nonsense >>%s"):format(path))
    assert.equal(11, tonumber((tui.run("wc -l <" .. path))))
    open("--replay " .. path .. " --at 0.5")
    screen:wait("PAUSED AT")
    screen:wait("REPLAY")
    screen:go("8", "line 11 is not a snapshot", { "2", "Left", "Left", "S", "m" }, "[2 Classes]", "Space", "PLAYING")
    local output, code = tui.batch(folder, "-b --replay " .. path)
    assert.equal(0, code)
    assert.truthy(output:find("items, ", 1, true), output)
    output, code = tui.batch(folder, "--replay /etc/passwd")
    assert.equal(64, code)
    assert.equal(1, select(2, output:gsub("\n", "")), output)
  end)

  it("prints snapshots without a terminal, the first with rates, too", function()
    server:fill("key", 1000, 100)
    local output, code = tui.batch(folder, "-b -n 2 -d 0.1 " .. server.socket)
    assert.equal(0, code)
    local _, snapshots = output:gsub("connections +%d", "")
    assert.equal(2, snapshots)
    local _, measured = output:gsub("gets/s                   0", "")
    assert.equal(2, measured, output)
    assert.is_nil(output:find("\27", 1, true))
    assert.is_nil(output:find("connecting", 1, true), "whoever has answered is connected\n" .. output)
    local version = server:ask("stats slated\r\n"):match("STAT slated_version ([^\r\n]+)")
    assert.truthy(output:find("slated " .. version .. "\n", 1, true), output)
  end)

  it("shows many servers, the dead one first, and opens one by Enter", function()
    local silent = tui.canned(folder .. "/silent.sock", replies.new("1.6.18", "silence").session)
    open(("%s %s %s/nobody.sock"):format(server.socket, silent.socket, folder), 120, 30)
    screen:wait("[7 Fleet]")
    screen:wait("down: cannot connect")
    screen:wait("3 servers, 1 up")
    screen:go({ "G", "Enter" }, { "[1 Overview]", "cache.sock" }, "7", "3 servers, 1 up")
  end)

  -- An hour may take 14 MB: 3.9 MB of the files that slatetop maps, 4.6 MB for its other 3,400 samples, whose size
  -- console_tape_spec bounds, and this; 0.9 MB is left.
  it("takes at most 4.6 MB of its own with 200 samples of 40 busy classes", function()
    local path = folder .. "/busy.jsonl"
    assert.equal("", tui.run("tests/bench/console-hour " .. path .. " 200"))
    open("--replay " .. path .. " --at 199")
    screen:wait("REPLAY")
    screen:step(2000)
    local status = tui.run(("cat /proc/$(pgrep -f '^build/world/slatetop .*%s')/status"):format(path))
    assert.is_true(tonumber(status:match("RssAnon:%s*(%d+) kB")) < 4600, status)
  end)

  it("watches a stream of the server's log, and says how much is lost", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:go({ "8", "w", "w", "w" }, "watch mutations: 0 lines, 0 % lost")
    server:ask("set some%20key 0 0 1\r\nx\r\n")
    server:await_stream()
    assert.truthy(screen:wait("key=some%2520key"):find("key=some%2520key status=stored", 1, true))
    screen:press("w", "w", "w")
    screen:step_until_gone("watch ")
  end)

  it("takes clicks on tabs, heads, rows and the key bar", function()
    server:fill("key", 1000, 100)
    open("--mouse yes " .. server.socket, 94, 30)
    screen:wait("live 1s")
    screen:click("Events")
    screen:wait("[8 Events]")
    screen:click("Classes")
    screen:wait("[2 Classes]")
    screen:wait("classes by")
    screen:click("SIZE")
    screen:wait("classes by SIZE")
    screen:click("Help")
    screen:wait("keys: ")
  end)

  it("names each class that starves for more than a moment, and when it starves no more", function()
    local path, lines = folder .. "/starving.jsonl", {}
    local class = '{"id":%d,"chunk_size":1000,"chunks_per_page":1000,"total_pages":4,"total_chunks":4000,'
      .. '"used_chunks":%d,"free_chunks":%d,"number":4000,"age":600,"evicted":%d}'
    -- Class 5 starves from second 3 to 20, class 7 for three seconds: then each gets a page.
    local function of(id, first, last, i)
      local free = i >= last and 1000 or 0
      return class:format(id, 4000 - free, free, 400 * math.max(0, math.min(i, last) - first))
    end
    for i = 1, 40 do
      lines[i] = sample(i, 64, '"classes":[%s,%s,%s],"totals":{}', class:format(3, 4000, 0, 0), of(5, 0, 20, i),
        of(7, 24, 30, i))
    end
    write(path, lines)
    open("--replay " .. path .. " --at 40")
    screen:wait("REPLAY")
    screen:go("8", "class 5 starves no more")
    local shown = screen:wait("alarm    class 5 starves")
    local _, began_or_ended = shown:gsub("class 5 starves", "")
    local _, ended = shown:gsub("class 5 starves no more", "")
    assert.same({ 2, 1 }, { began_or_ended, ended }, shown)
    assert.is_nil(shown:find("class 7", 1, true), shown)
    local output = tui.batch(folder, ("-b --replay %s --at 15"):format(path))
    assert.truthy(output:find("\n +5 [^\n]*STARVING\n"), output)
    output = tui.batch(folder, ("-b --replay %s --at 39"):format(path))
    assert.is_nil(output:find("STARVING", 1, true), output)
  end)
end)
