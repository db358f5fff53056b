-- slatetop with versions of memcached that are not here, and with hostile servers: views and changes.
local replies = require "replies"
local tui = require "tui"

describe("slatetop with other servers", function()
  local folder, screen, played

  local function start(version, kind)
    played = replies.new(version, kind)
    tui.canned(folder .. "/server.sock", played.session)
  end

  local function open(arguments)
    screen = tui.open(folder, ("-d 0.2 --audit-log %s/audit %s %s/server.sock"):format(folder, arguments or "", folder),
      120, 40)
  end

  local function commands() return played:commands() end

  local function leave() screen:go({ "Escape", "Escape", "q" }, "status=0") end

  before_each(function() folder = tui.make_folder() end)

  after_each(tui.clean)

  local VIEWS <const> = { "1 Overview", "2 Classes", "3 Pages", "4 Tune", "5 Sizes", "6 Curves", "7 Fleet", "8 Events",
    "9 Keys" }

  -- Which of them move pages, and which have settings of the segmented LRU.
  local VERSIONS <const> = { { "1.4.13", false, false }, { "1.4.33", true, false }, { "1.5.16", true, true },
    { "1.6.18", true, true }, { "1.6.34", true, true }, { "1.6.45", true, true } }

  for _, row in ipairs(VERSIONS) do
    local version, moves, has_lru = table.unpack(row)
    it(("shows and changes memcached %s, and sends it nothing that it does not know"):format(version), function()
      start(version)
      open()
      screen:wait("live 0.2s")
      screen:wait("memcached " .. version)
      screen:go("2", "classes by")
      local table_shown = screen:wait("  1184")
      assert.truthy(table_shown:find("192", 1, true))
      for i, view in ipairs(VIEWS) do screen:go(tostring(i), "[" .. view .. "]") end
      screen:go({ "1", "t", "Enter" }, "Automove: review")
      if moves then
        screen:wait("slabs automove 1")
        screen:go("S", "→ ratio", "u", "Undo: review", "S", "→ off")
      else
        screen:wait("-o slab_reassign")
        screen:press("S", "Escape")
        screen:step_until_gone("Automove: review")
      end
      screen:go({ "2", "G", "m" }, "Move pages: review")
      if moves then
        screen:go("S", " from class 4 to class ")
      else
        screen:wait("refused")
        screen:press("S", "Escape")
        screen:step_until_gone("Move pages: review")
      end
      screen:go("4", { "[4 Tune]", has_lru and "lru hot %           20" or "lru hot %           -" })
      leave()
      assert.is_nil(commands():find("UNKNOWN", 1, true), commands())
    end)
  end

  it("sends nothing that a version is known to crash on", function()
    start("1.6.40")
    open()
    screen:wait("live 0.2s")
    screen:go({ "2", "G", "m" }, "Move pages: review")
    -- A move to a class that the server does not list: 1.6.34 to 1.6.41 crash.
    screen:go({ "Up", "4", "0" }, { "refused", "some versions of memcached crash" }, { "S", "Escape" })
    screen:step_until_gone("Move pages: review")
    -- A window outside of 3 to 1800 seconds: 1.6.34 to 1.6.44 crash.
    for _, wrong in ipairs { "0", "2", "99999" } do
      screen:go("4", "[4 Tune]", { "g", "Down", "Down" }, "─ automove window s", { "Enter", wrong },
        "new value: " .. wrong .. "_", "Enter", "automove window s takes", { "Escape", "t" },
        "no new value is chosen")
    end
    -- A record of changes cannot bring the command there either.
    local record = assert(io.open(folder .. "/audit", "w"))
    record:write(('{"schema":"slate/audit/1","id":1,"time_s":1,"server":"%s/server.sock","what":"set",'
      .. '"name":"slab_automove_window","was":"0","is":"10"}\n'):format(folder))
    record:close()
    screen:go("u", "Undo: review", "S", "takes a whole number from 3 to 1800")
    leave()
    assert.is_nil(commands():find("CRASH", 1, true))
    assert.is_nil(commands():find("slabs ", 1, true), commands())
  end)

  -- test_client covers servers that send nothing, no end, or another protocol.
  for _, kind in ipairs { "fragments", "missing", "words", "negative", "resets", "halves", "stall", "escape", "login",
    "busy", "starts" } do
    it("outlives a server of the kind " .. kind, function()
      start("1.6.18", kind)
      open()
      tui.step_until(function() return select(2, commands():gsub("stats\n", "")) > 2 end, commands)
      for i, view in ipairs(VIEWS) do
        screen:press(tostring(i))
        local text = screen:wait("[" .. view .. "]")
        assert.is_nil(text:find("%d%d%d%d%d%d%d%d%d%d%d%d%d%d"), text) -- no difference below zero that wrapped
        assert.is_nil(text:find("\27", 1, true))
      end
      screen:go({ "2", "Enter", "Escape", "x", "Escape", "?", "Escape", "d", "D", "1" }, "[1 Overview]")
      leave()
    end)
  end

  it("says once for how long a server has not answered", function()
    start("1.6.18", "stall")
    open()
    local text = screen:wait("does not answer: press C")
    assert.truthy(text:find("BAD   figures are %d+s old: %S+ does not answer"), text)
    leave()
  end)

  it("queries a proxy for its links to backends, and shows it as a proxy", function()
    start("1.6.45", "proxy")
    open()
    screen:go("7", { "p1.6.45", "2 of 4 links to backends bad" })
    local told = commands()
    assert.truthy(told:find("stats proxybe\n", 1, true), told)
    assert.is_nil(told:find("UNKNOWN stats proxy", 1, true), told)
    leave()
  end)

  it("does not watch mutations where that may bring the server down, and says so", function()
    start("1.6.18")
    open()
    screen:wait("live 0.2s")
    screen:go({ "8", "w", "w", "w" },
      { "watch mutations", "memcached 1.6.18 crashes when a store of the binary protocol fails" }, "w",
      "watch fetchers")
    assert.is_nil(commands():find("mutations", 1, true))
    leave()
  end)

  local function is_question(line)
    local question = line:gsub("^UNKNOWN (watch)", "%1") -- a stream that this version does not have
    local is_known = question == "stats" or question == "version" or question:find("^stats %a+$")
      or question:find("^watch %a+$")
    return is_known and not (line:find("detail") or line:find("reset") or line:find("sizes_"))
  end

  -- R writes a file here, q leaves, and : takes a command; none sends bytes to the server.
  for arguments, harmless in pairs { ["--read-only"] = "[^Rq:]", [""] = "[^Rq:S]" } do
    it(("sends nothing but questions, whatever keys are pressed, %s"):format(arguments == "" and "but for a capital S"
      or "when it may only read"), function()
      local seed = tonumber(os.getenv("SEED")) or os.time()
      print("# SEED=" .. seed)
      math.randomseed(seed)
      start("1.6.18")
      open(arguments)
      screen:wait("live 0.2s")
      if arguments == "--read-only" then
        screen:go({ "t", "Enter", "S" }, "read-only: nothing was sent")
      end
      local letters = { "Enter", "Escape", "Tab", "Up", "Down", "Left", "Right", "F1", "F4", "F5", "F6", "F7", "F8",
        "BSpace", "Home", "End", "PPage", "NPage", "Space" }
      for byte = 33, 126 do
        local letter = string.char(byte)
        if letter:find(harmless) then letters[#letters + 1] = letter end
      end
      for _ = 1, 25 do
        local keys = {}
        for i = 1, 200 do keys[i] = letters[math.random(#letters)] end
        screen:resize(math.random(30, 170), math.random(8, 60))
        screen:press_at_once(keys)
        screen:step(100)
      end
      screen:resize(120, 40)
      screen:go({ "Escape", "Escape", "Escape", "1" }, "[1 Overview]")
      for line in commands():gmatch("[^\n]+") do assert.truthy(is_question(line), line) end
      leave()
    end)
  end
end)
