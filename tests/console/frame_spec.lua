-- The frame of slatetop in a real terminal: time, fleet, habits, and servers that misbehave.
package.path = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") .. "/?.lua;" .. package.path
local tui = require "tui"

local describe = tui.has("tmux") and describe or pending

local LONG <const> = os.getenv("SLATE_LONG") ~= nil -- 200 resizes in the place of 12

describe("slatetop's frame", function()
  local folder, server, screen, started

  local function open(arguments, width, height, environment)
    screen = tui.open(folder, tui.slatetop .. " " .. arguments, width, height,
      "XDG_CONFIG_HOME=" .. folder .. " " .. (environment or ""))
    return screen
  end

  -- A misbehaving server on a socket of its own.
  local function hostile(behaviour)
    local path = folder .. "/" .. behaviour .. ".sock"
    local pid = tui.run(("lua5.4 tests/spec/support/hostile.lua %s %s </dev/null >/dev/null 2>&1 & echo $!"):format(
      path, behaviour)):match("%d+")
    started[#started + 1] = pid
    tui.wait_until(function() return tui.run("test -S " .. path .. " && echo there"):find("there", 1, true) end)
    return path
  end

  -- Ten snapshots of the server, a tenth of a second apart.
  local function record(path)
    local _, code = tui.run(("%s -b -n 10 -d 0.1 -w %s %s"):format(tui.slatetop, path, server.socket))
    assert.equal(0, code)
  end

  before_each(function()
    folder, started = tui.make_folder(), {}
    server = tui.start_server("build/bin/slated", folder, "-o no_slab_automove")
  end)

  after_each(function()
    if screen then screen:close() end
    screen = nil
    for _, pid in ipairs(started) do tui.run("kill -KILL " .. pid) end
    server:stop()
    tui.remove_folder(folder)
  end)

  it("pauses, goes back and comes live again while sampling goes on", function()
    open("-d 0.2 " .. server.socket)
    screen:wait("live 0.2s")
    screen:wait("evictions/s")
    screen:press("Space")
    screen:wait("PAUSED")
    screen:press("Left", "Left", "m")
    screen:wait("ago")
    screen:press("D", "d")
    screen:wait("[d Diff]")
    screen:wait("no class changed")
    screen:press(".")
    screen:wait("live 0.2s")
  end)

  it("replays what it recorded, from the place asked for, and skips what is no snapshot", function()
    server:fill("key", 1000, 100)
    local path = folder .. "/rec.jsonl"
    record(path)
    tui.run(("echo nonsense >>%s"):format(path))
    local count = tui.run("wc -l <" .. path)
    assert.equal(11, tonumber(count))
    open("--replay " .. path .. " --at 0.5")
    screen:wait("PAUSED AT")
    screen:wait("REPLAY")
    screen:press("8")
    screen:wait("line 11 is not a snapshot")
    screen:press("2", "Left", "Left", "S", "m")
    screen:wait("[2 Classes]")
    screen:press("Space")
    screen:wait("PLAYING")
    local output, code = tui.run(tui.slatetop .. " -b --replay " .. path)
    assert.equal(0, code)
    assert.truthy(output:find("items, ", 1, true), output)
    output, code = tui.run(tui.slatetop .. " --replay /etc/passwd")
    assert.equal(64, code)
    assert.equal(1, select(2, output:gsub("\n", "")), output)
  end)

  it("continues a recording, and touches no other file", function()
    local path = folder .. "/rec.jsonl"
    record(path)
    record(path)
    assert.equal(20, tonumber((tui.run("wc -l <" .. path))))
    local diary = assert(io.open(folder .. "/diary", "w"))
    diary:write("dear diary\n")
    diary:close()
    local output, code = tui.run(("%s -b -w %s/diary %s"):format(tui.slatetop, folder, server.socket))
    assert.equal(74, code)
    assert.truthy(output:find("not a recording", 1, true), output)
  end)

  it("shows many servers, the dead one first, and opens one by Enter", function()
    local silent = hostile("silence")
    open(("%s %s %s/nobody.sock"):format(server.socket, silent, folder), 120, 30)
    screen:wait("[7 Fleet]")
    screen:wait("DOWN cannot connect")
    screen:wait("3 servers, 1 up")
    screen:press("G", "Enter")
    screen:wait("[1 Overview]")
    screen:wait("cache.sock")
    screen:press("7")
    screen:wait("3 servers, 1 up")
  end)

  it("answers keys whatever a server sends", function()
    local paths = {}
    for _, behaviour in ipairs { "silence", "hangup", "http", "endless_line", "torn", "escape" } do
      paths[#paths + 1] = hostile(behaviour)
    end
    open(table.concat(paths, " ") .. " " .. server.socket, 132, 30)
    screen:wait("7 servers, 2 up") -- the one that sends escapes answers whole, and is shown without them
    for _ = 1, 6 do
      screen:press("1")
      screen:wait("[1 Overview]")
      screen:press("7", "j")
      screen:wait("[7 Fleet]")
    end
    assert.is_nil(screen:text():find("owned", 1, true))
    screen:press("q")
    screen:wait("status=0")
    assert.is_true(screen:line_is_restored())
  end)

  it("watches a stream of the server's log, and says how much is lost", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:press("8", "w", "w", "w")
    screen:wait("watch mutations: 0 lines, 0 % lost")
    tui.wait_until(function()
      server:ask("set some%20key 0 0 1\r\nx\r\n")
      return screen:text():find("key=some%%2520key status=stored")
    end, function() return screen:text() end)
    screen:press("w", "w", "w")
    screen:wait_gone("watch ")
  end)

  it("takes clicks on tabs, heads, rows and the key bar", function()
    server:fill("key", 1000, 100)
    open("--mouse yes " .. server.socket, 94, 30) -- as wide as a click can tell
    screen:wait("live 1s")
    local function click(text)
      local y = 0
      for line in screen:text():gmatch("([^\n]*)\n") do
        y = y + 1
        local at = line:find(text, 1, true)
        if at then
          local x = utf8.len(line:sub(1, at))
          -- Pasted, so that the bytes come together, as a terminal sends them.
          local place = string.char(32 + x, 32 + y):gsub("'", "'\\''")
          screen:tmux(("set-buffer '\27[M %s\27[M#%s'"):format(place, place)) -- down and up
          screen:tmux("paste-buffer")
          return
        end
      end
      error("not on the screen: " .. text)
    end
    click("Events")
    screen:wait("[8 Events]")
    click("Classes")
    screen:wait("[2 Classes]")
    screen:wait("live 1s")
    screen:wait("classes by")
    click("SIZE")
    screen:wait("classes by SIZE")
    click("Help")
    screen:wait("keys: ")
  end)

  it("says what is wrong with the configuration, with its line, and starts nothing", function()
    tui.run(("mkdir %s/slate && printf 'delay = 1\\n\\ntheme = pink\\n' >%s/slate/slatetoprc"):format(folder,
      folder))
    local output, code = tui.run(("env XDG_CONFIG_HOME=%s %s -b"):format(folder, tui.slatetop))
    assert.equal(64, code)
    assert.truthy(output:find("slatetoprc:3: there is no theme 'pink'", 1, true), output)
    tui.run(("printf 'server = %s\\ntheme = light\\n' >%s/slate/slatetoprc"):format(server.socket, folder))
    open("")
    screen:wait("live 1s")
    screen:press("T")
    screen:wait("theme: colour-blind")
  end)

  if tui.has("memcached") then
    it("logs in with a password, and says so when it is wrong", function()
      local users, socket = folder .. "/users", folder .. "/auth.sock"
      tui.run(("printf 'joe:secret\\n' >%s; printf 'joe:wrong\\n' >%s/wrong"):format(users, folder))
      local user = tui.run("id -u"):match("%d+") == "0" and "-u root" or ""
      started[1] = tui.run(("memcached -s %s %s -Y %s </dev/null >/dev/null 2>&1 & echo $!"):format(socket, user,
        users)):match("%d+")
      tui.wait_until(function() return tui.answers(socket) end) -- a socket has its name before it listens
      local output, code = tui.run(("%s -b -P %s %s"):format(tui.slatetop, users, socket))
      assert.equal(0, code, output)
      output, code = tui.run(("%s -b -P %s/wrong %s"):format(tui.slatetop, folder, socket))
      assert.equal(69, code)
      assert.truthy(output:find("refuses the password", 1, true), output)
    end)
  end

  it("tells of memory beyond the limit that stays, and of its end", function()
    local path, lines = folder .. "/over.jsonl", {}
    for i = 1, 30 do
      lines[i] = ('{"schema":"slate/snapshot/1","time_s":%d,"server":"x","version":"1.6.45","slated":"0.1.0",'
        .. '"general":{"pid":1,"uptime":%d,"limit_maxbytes":8388608},"settings":{},"classes":[{"id":1,'
        .. '"chunk_size":96,"total_pages":1}],"totals":{"total_malloced":%d}}'):format(1000 + i, 100 + i,
        (i == 4 or i >= 10 and i < 20) and 80 << 20 or 8 << 20)
    end
    local file = assert(io.open(path, "w"))
    file:write(table.concat(lines, "\n"), "\n")
    file:close()
    open("--replay " .. path .. " --at 30")
    screen:wait("REPLAY")
    screen:press("8")
    screen:wait("memory is within its limit again")
    local shown = screen:wait("alarm    80M of memory held, the limit is 8M")
    assert.equal(1, select(2, shown:gsub("80M of memory held", "")), shown)
  end)

  it("tells of each class that starves for more than a moment, and when it starves no more", function()
    local path, lines = folder .. "/starving.jsonl", {}
    local class = '{"id":%d,"chunk_size":1000,"chunks_per_page":1000,"total_pages":4,"total_chunks":4000,'
      .. '"used_chunks":%d,"free_chunks":%d,"number":4000,"age":600,"evicted":%d}'
    -- Class 5 starves from second 3 to 20, class 7 for three seconds: then each gets a page.
    local function of(id, first, last, i)
      local free = i >= last and 1000 or 0
      return class:format(id, 4000 - free, free, 400 * math.max(0, math.min(i, last) - first))
    end
    for i = 1, 40 do
      lines[i] = ('{"schema":"slate/snapshot/1","time_s":%d,"server":"x","version":"1.6.45","slated":"0.1.0",'
        .. '"general":{"pid":1,"uptime":%d,"limit_maxbytes":67108864},"settings":{"slab_automove":0},'
        .. '"classes":[%s,%s,%s],"totals":{}}'):format(1000 + i, 9000 + i, class:format(3, 4000, 0, 0),
        of(5, 0, 20, i), of(7, 24, 30, i))
    end
    local file = assert(io.open(path, "w"))
    file:write(table.concat(lines, "\n"), "\n")
    file:close()
    open("--replay " .. path .. " --at 40")
    screen:wait("REPLAY")
    screen:press("8")
    screen:wait("class 5 starves no more")
    local shown = screen:wait("alarm    class 5 starves")
    local _, began_or_ended = shown:gsub("class 5 starves", "")
    local _, ended = shown:gsub("class 5 starves no more", "")
    assert.same({ 2, 1 }, { began_or_ended, ended }, shown)
    assert.is_nil(shown:find("class 7", 1, true), shown)
    local output = tui.run(("%s -b --replay %s --at 15"):format(tui.slatetop, path))
    assert.truthy(output:find("\n +5 [^\n]*STARVING\n"), output)
    output = tui.run(("%s -b --replay %s --at 39"):format(tui.slatetop, path))
    assert.is_nil(output:find("STARVING", 1, true), output)
  end)

  it("leaves no stray cell however often the window changes its size", function()
    server:fill("key", 1000, 100)
    local path = folder .. "/rec.jsonl"
    record(path)
    local seed = tonumber(os.getenv("SEED")) or os.time()
    print("# SEED=" .. seed)
    math.randomseed(seed)
    open("--replay " .. path .. " --at 0.5")
    screen:wait("REPLAY")
    local width, height
    for _ = 1, LONG and 200 or 12 do
      width, height = math.random(40, 180), math.random(10, 50)
      screen:resize(width, height)
    end
    local fresh = tui.open(folder, tui.slatetop .. " --replay " .. path .. " --at 0.5", width, height)
    fresh:wait("REPLAY")
    local same, message = pcall(tui.wait_until, function() return fresh:text() == screen:text() end,
      function() return fresh:text() .. "\n----\n" .. screen:text() end)
    fresh:close()
    assert.is_true(same, message)
  end)

  it("sends one write a frame, and no clear after the first", function()
    if not tui.has("strace") then
      pending("needs strace")
      return
    end
    server:fill("key", 1000, 100)
    local trace = folder .. "/trace"
    screen = tui.open(folder, ("strace -qq -e trace=write,dup2 -o %s %s -d 0.2 %s"):format(trace, tui.slatetop,
      server.socket))
    screen:wait("live 0.2s")
    screen:press("2")
    screen:wait("EV/s")
    screen:press("q")
    screen:wait("status=0")
    -- A frame is gathered in memory (standard output is that, between two dup2), then written.
    local file = assert(io.open(trace))
    local frames, writes, clears, gathers = 0, 0, 0, false
    for line in file:lines() do
      if line:find("^dup2%(") then
        gathers = not gathers
        frames = frames + (gathers and 1 or 0)
      elseif line:find("^write%(1,") and not gathers then
        writes = writes + 1
        if line:find("\\33[2J", 1, true) or line:find("\\33[H\\33[J", 1, true) then clears = clears + 1 end
      end
    end
    file:close()
    assert.equal(1, clears)
    -- A dozen more to open and close the terminal.
    assert.is_true(frames >= 2 and writes <= frames + 12, frames .. " frames, " .. writes .. " writes")
  end)
end)
