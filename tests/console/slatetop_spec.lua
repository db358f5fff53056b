-- The real slatetop in a real terminal (tmux), against real servers.
package.path = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") .. "/?.lua;" .. package.path
local tui = require "tui"

local servers = {}
for _, program in ipairs { "build/bin/slated", "memcached" } do
  if tui.has(program) then servers[#servers + 1] = program end
end

local describe = tui.has("tmux") and describe or pending

-- A cache whose pages belong to small items, while class 12 (or its like) evicts: the operator's case.
local function calcify(server)
  server:fill("small", 400000, 100)
  server:fill("large", 3000, 1000)
end

for _, program in ipairs(servers) do
  describe("slatetop on " .. program, function()
    local folder, server, screen

    local function open(arguments, width, height, environment)
      local command = ("%s %s %s"):format(tui.slatetop, arguments or "", server.socket)
      screen = tui.open(folder, command, width, height, environment)
      return screen
    end

    before_each(function()
      folder = tui.make_folder()
      server = tui.start_server(program, folder, "-o no_slab_automove")
    end)

    after_each(function()
      if screen then screen:close() end
      screen = nil
      if server then server:stop() end
      server = nil
      tui.remove_folder(folder)
    end)

    it("shows the overview, then the classes, then leaves the terminal as it was", function()
      server:fill("key", 1000, 100)
      open()
      screen:wait("live 1s")
      screen:wait("hit %")
      screen:press("2")
      screen:wait("EV/s")
      screen:wait("classes by EV/s")
      screen:press("q")
      screen:wait("status=0")
      assert.is_true(screen:line_is_restored())
    end)

    it("moves pages only by a capital S, and verifies them", function()
      calcify(server)
      local before = server:pages()
      local rich, poor
      for class, pages in pairs(before) do
        if pages > 10 then rich = class else poor = class end
      end
      open()
      screen:wait("live 1s")
      screen:press("2", "z", "z")
      screen:wait("EV/s")
      -- Sort by class id, so that the rows stand still, and mark the rich class as the source.
      screen:press("\\")
      screen:wait("filter:")
      screen:press(tostring(rich), "Enter")
      screen:wait("filter: " .. rich)
      screen:press("f")
      screen:wait("is the source")
      screen:press("\\", "BSpace", "BSpace", "BSpace", tostring(poor), "Enter")
      screen:wait("filter: " .. poor)
      screen:press("m")
      screen:wait("Move pages: review")
      screen:press("3")
      screen:wait(("slabs reassign %d %d"):format(rich, poor))
      screen:press("Enter", "Enter", "Enter", "y", "s", "Enter")
      screen:wait("Move pages: review")
      assert.same(before, server:pages())
      screen:press("S")
      screen:wait("moved 3 of 3 pages from class")
      local after = server:pages()
      -- Where the pool has pages, rescued items take new ones, so the source may end with more.
      assert.is_true(after[rich] >= before[rich] - 3 and after[rich] <= before[rich])
      assert.equal(before[poor] + 3, after[poor])
      screen:press("8")
      screen:wait(("class %d: %d →"):format(rich, before[rich]))
      screen:press("u")
      screen:wait(("slabs reassign %d %d"):format(poor, rich))
      screen:press("Escape")
      screen:wait_gone("review")
      assert.same(after, server:pages())
    end)

    it("changes automove through the review, and back by undo", function()
      open()
      screen:wait("live 1s")
      screen:press("t")
      local proposed = program == "memcached" and "1" or "utility"
      screen:wait("slabs automove " .. proposed)
      screen:press("Enter", "Enter")
      assert.equal("0", server:setting("slab_automove"))
      screen:press("S")
      screen:wait("→ " .. proposed)
      assert.equal(proposed, server:setting("slab_automove"))
      screen:press("u")
      screen:wait("slabs automove 0")
      screen:press("S")
      screen:wait("→ 0")
      assert.equal("0", server:setting("slab_automove"))
    end)

    it("sends nothing that writes in read-only mode", function()
      open("--read-only")
      screen:wait("READ-ONLY")
      screen:wait("live 1s")
      screen:press("t")
      screen:wait("nothing can be sent")
      screen:press("S")
      screen:wait("read-only: nothing was sent")
      assert.equal("0", server:setting("slab_automove"))
    end)

    it("never writes for random keys, as long as no capital S is among them", function()
      calcify(server)
      local before, mode = server:pages(), server:setting("slab_automove")
      local seed = tonumber(os.getenv("SEED")) or os.time()
      print("# SEED=" .. seed)
      math.randomseed(seed)
      open()
      screen:wait("live 1s")
      -- No S, which sends, and no R, which writes a file.
      local letters = "abcdefghijklmnopr tuvwxyzABCDEFGHIJKLMNOPQTUVWXYZ0123456789+-<>=/?! []{}."
      local named = { "Enter", "Escape", "Tab", "Up", "Down", "Left", "Right", "F1", "F4", "F5", "F6", "F7", "F8",
        "BSpace", "Home", "End", "PPage", "NPage", "m", "t", "f", "2" }
      for _ = 1, 40 do
        local keys = {}
        for i = 1, 25 do
          local at = math.random(#letters)
          keys[i] = math.random(2) == 1 and named[math.random(#named)] or letters:sub(at, at)
        end
        for i, key in ipairs(keys) do keys[i] = "'" .. key .. "'" end
        screen:tmux("send-keys " .. table.concat(keys, " "))
      end
      screen:press("Escape", "Escape", "Escape", "1")
      screen:wait("[1 Overview]")
      assert.same(before, server:pages())
      assert.equal(mode, server:setting("slab_automove"))
    end)

    it("answers keys while the server hangs, and says how old the figures are", function()
      open()
      screen:wait("live 1s")
      screen:wait("evictions/s")
      server:signal("STOP")
      screen:wait("figures are") -- STALE at first; a slow machine may see DOWN, which comes after 10 s
      screen:press("2")
      screen:wait("classes by")
      screen:press("1")
      screen:wait("figures are")
      server:signal("CONT")
      screen:wait("live 1s")
    end)

    it("survives the death of the server and finds it again", function()
      open()
      screen:wait("live 1s")
      screen:wait("evictions/s")
      server:stop()
      screen:wait("DOWN")
      screen:wait("figures are")
      server:start()
      screen:wait("live 1s")
      screen:press("8")
      screen:wait("connected again")
      screen:wait("restarted")
    end)

    it("follows the window's size at once", function()
      open()
      screen:wait("live 1s")
      for _, size in ipairs { { 160, 50 }, { 40, 10 }, { 132, 43 }, { 80, 24 } } do
        screen:resize(size[1], size[2])
        tui.wait_until(function()
          local lines = {}
          for line in screen:text():gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
          return #lines == size[2] and lines[#lines]:find("F1", 1, true) and lines[1]:find("rw", 1, true)
        end, function() return screen:text() end)
      end
      screen:resize(30, 8)
      screen:wait("need 40x10")
      screen:resize(80, 24)
      screen:wait("[1 Overview]")
    end)

    it("draws without a full clear after the first paint", function()
      open()
      screen:wait("live 1s")
      local raw = screen:record()
      screen:press("2")
      screen:wait("[2 Classes]")
      screen:press("8", "t")
      screen:wait("Automove: review")
      screen:press("Escape", "1")
      screen:wait("[1 Overview]")
      local bytes = tui.wait_until(function()
        local file = assert(io.open(raw, "rb"))
        local so_far = file:read("a")
        file:close()
        return so_far:find("Overview", 1, true) and so_far
      end)
      assert.is_nil(bytes:find("\27[2J", 1, true))
      assert.is_nil(bytes:find("\27[H\27[J", 1, true))
    end)

    it("prints snapshots without a terminal and leaves no process", function()
      server:fill("key", 1000, 100)
      local output, code = tui.run(("%s -b -n 2 -d 0.1 %s </dev/null"):format(tui.slatetop, server.socket))
      assert.equal(0, code)
      local _, snapshots = output:gsub("connections +%d", "")
      assert.equal(2, snapshots)
      local _, measured = output:gsub("gets/s                   0", "")
      assert.equal(2, measured, "also the first has rates\n" .. output)
      assert.is_nil(output:find("\27", 1, true))
      assert.is_nil(output:find("connecting", 1, true), "whoever has answered is connected\n" .. output)
    end)

    it("prints JSON that a parser takes, with rates from the first line on and null for what is unknown", function()
      local cjson = require "cjson"
      local output, code = tui.run(("%s --json -n 2 -d 0.1 %s"):format(tui.slatetop, server.socket))
      assert.equal(0, code)
      local snapshots = {}
      for line in output:gmatch("[^\n]+") do snapshots[#snapshots + 1] = cjson.decode(line) end
      assert.equal(2, #snapshots)
      assert.equal(0, snapshots[1].rates.gets)
      assert.equal(cjson.null, snapshots[1].rates.hit_ratio)
      assert.truthy(snapshots[1].settings.maxconns)
      assert.equal(67108864, snapshots[1].general.limit_maxbytes)
      assert.equal("slate/snapshot/1", snapshots[1].schema)
      assert.truthy(snapshots[2].health[1].text)
    end)

    it("names the server with its own version on screen, in text and in JSON", function()
      local software, stats, name = "memcached", "stats", "version"
      if server:ask("stats slated\r\n"):find("STAT ", 1, true) then
        software, stats, name = "slated", "stats slated", "slated_version"
      end
      local version = server:ask(stats .. "\r\n"):match("STAT " .. name .. " ([^\r\n]+)")
      local wanted = software .. " " .. version
      assert.truthy(tui.run(tui.slatetop .. " -b " .. server.socket):find(wanted .. "\n", 1, true))
      local json = require("cjson").decode((tui.run(tui.slatetop .. " --json " .. server.socket)))
      assert.equal(version, json[software == "slated" and "slated" or "version"])
      open(nil, 132, 43)
      screen:wait("  " .. wanted .. "  ")
      screen:press("c")
      screen:wait("[2 Classes]")
    end)

    it("ends with 74 on a full disk, and silently when the reader goes", function()
      local command = tui.slatetop .. " %s " .. server.socket
      local output, code = tui.run("{ " .. command:format("-b -n 2 -d 0.1") .. " >/dev/full; }")
      assert.equal(74, code)
      assert.equal("slatetop: cannot write: No space left on device\n", output)
      output, code = tui.run("{ { " .. command:format("-b -n 100 -d 0.1") .. "; echo status=$? >&2; } | head -n 1; }")
      assert.equal(0, code)
      assert.truthy(output:find("status=0\n", 1, true), output)
      assert.is_nil(output:find("slatetop:", 1, true), output)
    end)
  end)
end

describe("slatetop without a server", function()
  local folder, screen

  before_each(function() folder = tui.make_folder() end)
  after_each(function()
    if screen then screen:close() end
    screen = nil
    tui.remove_folder(folder)
  end)

  it("paints before it connects, and says why it can't", function()
    screen = tui.open(folder, tui.slatetop .. " " .. folder .. "/nobody.sock")
    screen:wait("[1 Overview]")
    screen:wait("No such file or directory")
    screen:press("2")
    screen:wait("[2 Classes]")
    screen:press("q")
    screen:wait("status=0")
  end)

  it("puts the terminal back when it is killed", function()
    for _, case in ipairs { { "TERM", 130 }, { "HUP", 130 }, { "SEGV", 139 }, { "ABRT", 134 },
      { "QUIT", 131 } } do
      screen = tui.open(folder, tui.slatetop .. " " .. folder .. "/nobody.sock")
      screen:wait("DOWN")
      tui.run(("kill -%s %s"):format(case[1], screen:console_pid()))
      screen:wait("status=" .. case[2])
      assert.is_true(screen:line_is_restored(), "after " .. case[1])
      assert.is_nil(screen:text():find("Overview", 1, true), "the screen of before is back")
      screen:close()
    end
  end)

  it("stops for ^Z and comes back", function()
    local command = "set -m; %s %s/nobody.sock; echo stopped=$?; read line; fg"
    screen = tui.open(folder, command:format(tui.slatetop, folder))
    screen:wait("DOWN")
    screen:press("C-z")
    screen:wait("stopped=")
    assert.is_nil(screen:text():find("Overview", 1, true), "the screen of before is back")
    screen:press("Enter")
    screen:wait("[1 Overview]")
    screen:press("q")
    screen:wait("status=0")
  end)

  it("stays ASCII in a locale without UTF-8, and without colour when told", function()
    screen = tui.open(folder, "env LC_ALL=C NO_COLOR=1 " .. tui.slatetop .. " " .. folder .. "/nobody.sock")
    screen:wait("DOWN")
    assert.is_nil(screen:text():find("[\128-\255]"))
    local coloured = screen:tmux("capture-pane -p -e")
    assert.is_nil(coloured:find("\27%[[%d;]*[34]%d?[0-7]m"), "no colour is set")
  end)

  it("refuses a terminal that cannot place the cursor, and leaves it as it was", function()
    screen = tui.open(folder, "env TERM=dumb " .. tui.slatetop .. " " .. folder .. "/nobody.sock")
    screen:wait("status=64")
    assert.truthy(tui.run("cat " .. folder .. "/errors"):find("'dumb' cannot place the cursor", 1, true))
    assert.is_true(screen:line_is_restored())
  end)

  it("answers wrong use with one line and 64, no server with 69", function()
    local output, code = tui.run(tui.slatetop .. " --bogus")
    assert.equal(64, code)
    assert.equal(1, select(2, output:gsub("\n", "")))
    output, code = tui.run(tui.slatetop .. " -b " .. folder .. "/nobody.sock")
    assert.equal(69, code)
    assert.truthy(output:find("No such file", 1, true))
    output, code = tui.run(tui.slatetop .. " </dev/null")
    assert.equal(64, code)
    assert.truthy(output:find("use %-b"))
  end)

  it("tells its version and its options", function()
    local output, code = tui.run(tui.slatetop .. " --version")
    assert.equal(0, code)
    assert.truthy(output:match("^slatetop %d+%.%d+"))
    output, code = tui.run(tui.slatetop .. " --help")
    assert.equal(0, code)
    assert.truthy(output:find("--read-only", 1, true))
    for line in output:gmatch("[^\n]+") do
      assert.is_true(#line <= 80, line)
    end
    for _, status in ipairs { 0, 64, 69, 70, 74, 130 } do
      assert.truthy(output:find(("\n +%d  %%l"):format(status)), "exit status " .. status)
    end
    for _, option in ipairs { "--help", "--version", "--describe" } do
      local complaint, status = tui.run(("{ %s %s >/dev/full; }"):format(tui.slatetop, option))
      assert.equal(74, status)
      assert.equal("slatetop: cannot write: No space left on device\n", complaint)
    end
  end)
end)
