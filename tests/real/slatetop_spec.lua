-- slatetop's effects on a terminal, its process and its output: in a tmux, against one server.
local real = require "support.server"
local tui = require "tmux"

local describe = tui.has("tmux") and describe or pending

describe("slatetop in a terminal", function()
  local folder, server, screen

  setup(function()
    server = real.start({ args = { "-o", "no_slab_automove" } })
    local client = server:connect()
    for i = 1, 100 do assert(client:set("key" .. i, ("x"):rep(100))) end
    client:close()
  end)

  teardown(function() server:stop() end)

  before_each(function() folder = tui.make_folder() end)

  after_each(function()
    if screen then screen:close() end
    screen = nil
    tui.remove_folder(folder)
  end)

  local function open(arguments, width, height, environment, settings)
    screen = tui.open(folder, ("%s %s"):format(tui.slatetop, arguments or server.address), width, height, environment,
      settings)
    return screen
  end

  it("answers to letters, arrows and function keys, and leaves the terminal as it was", function()
    open()
    screen:wait("live 1s")
    screen:press("2")
    screen:wait("classes by EV/s")
    screen:press("F6")
    screen:wait_until(function(text) return not text:find("classes by EV/s", 1, true) end)
    screen:press("Left")
    screen:wait("PAUSED")
    screen:press("F1")
    screen:wait("/ searches")
    screen:press("Escape", "BTab")
    screen:wait("[1 Overview]")
    screen:press("q")
    screen:wait("status=0")
    assert.is_true(screen:line_is_restored())
  end)

  it("takes an escape sequence that it does not know for no key", function()
    open(nil, nil, nil, "TERM=xterm-256color")
    screen:wait("live 1s")
    -- Home and End of another terminal, F1 of the console of Linux, a function key, an answer of the terminal, and four
    -- more kinds of strings, which hold the key that goes to the past; then 2.
    for _, sequence in ipairs { "\27[1~", "\27[4~", "\27[[A", "\27O2x",
      "\27]11;rgb:0000/0000/0000\27\\", "\27[99;99z", "\27P[\27\\", "\27_[\27\\", "\27^[\27\\", "\27X[\27\\" } do
      screen:tmux(("set-buffer '%s'"):format(sequence))
      screen:tmux("paste-buffer")
    end
    screen:press("2")
    local text = screen:wait("[2 Classes]")
    assert.is_nil(text:find("PAUSED", 1, true) or text:find("does nothing", 1, true), text)
  end)

  it("sends no change by what a terminal reports: clicks of an old mouse, a function key in parts", function()
    for _, type in ipairs { "xterm", "xterm-256color", "vt100", "tmux-256color" } do
      for _, mouse in ipairs { "yes", "no" } do
        open(("--mouse %s %s"):format(mouse, server.address), nil, nil, "TERM=" .. type)
        screen:wait("live 1s")
        screen:press("t", "Enter")
        screen:wait("capital S sends it")
        for _, bytes in ipairs { "\27[M S*", "\27[M#S*", "\27[<0;51;10M", "\27[<0;51;10m", "\27O" } do
          screen:tmux(("set-buffer '%s'"):format(bytes))
          screen:tmux("paste-buffer")
        end
        local second = screen:text():match("%d%d:%d%d:%d%d *\n")
        screen:wait_until(function(text) return text:match("%d%d:%d%d:%d%d *\n") ~= second end)
        screen:press("S", "Escape")
        local text = screen:wait_until(function(text) return not text:find("capital S", 1, true) and text end)
        assert.is_nil(text:find("→", 1, true), type .. text)
        screen:close()
      end
    end
    screen = nil
    local client = server:connect()
    local settings = table.concat(assert(client:stats("settings")), "\n")
    client:close()
    assert.truthy(settings:find("slab_automove 0", 1, true), settings)
  end)

  it("takes pasted text for text where a line is typed, and for no key", function()
    open(nil, nil, nil, "TERM=xterm-256color")
    screen:wait("live 1s")
    screen:tmux("set-buffer '2tj\nSq'")
    screen:tmux("paste-buffer -p")
    screen:wait("pasted text does nothing here")
    assert.truthy(screen:text():find("[1 Overview]", 1, true), screen:text())
    screen:press(":")
    screen:tmux("set-buffer 'go to cla\nq'")
    screen:tmux("paste-buffer -p")
    screen:wait(":go to claq_")
    screen:press("Escape", "2")
    screen:wait("[2 Classes]")
    screen:press("q")
    screen:wait("status=0")
  end)

  it("copies the name of a hot key into the clipboard of the terminal", function()
    open()
    screen:tmux("set-option -s set-clipboard on")
    local client = server:connect()
    for _ = 1, 3000 do assert(client:get("key42")) end
    for i = 1, 100 do assert(client:get("key" .. i)) end
    client:close()
    screen:press("9")
    screen:wait("key: key42")
    screen:press("y")
    screen:wait("copied, if the terminal takes OSC 52: key42")
    assert.equal("key42", screen:tmux("show-buffer"))
  end)

  it("takes the colours of the light theme where COLORFGBG says that the background is white", function()
    local settings = folder .. "/tmux.conf"
    for _, case in ipairs { { "'0;15'", "48;5;25m", "white" }, { "'15;0'", "48;5;24m", "black" } } do
      -- tmux says of itself the same, if it is asked and answers in time.
      real.write_file(settings, ("set-option -g window-style bg=%s\n"):format(case[3]))
      open(nil, nil, nil, "COLORFGBG=" .. case[1], settings)
      screen:wait("live 1s")
      local coloured = screen:tmux("capture-pane -p -e")
      assert.truthy(coloured:find(case[2], 1, true), coloured)
      screen:close()
    end
    screen = nil
  end)

  it("follows the window's size, and leaves no stray cell however often it changes", function()
    local path = folder .. "/rec.jsonl"
    assert.equal(0, select(2, tui.run(("%s -b -n 3 -d 0.1 -w %s %s"):format(tui.slatetop, path, server.address))))
    local seed = tonumber(os.getenv("SEED")) or os.time()
    print("# SEED=" .. seed)
    math.randomseed(seed)
    open("--replay " .. path .. " --at 0.2")
    screen:wait("REPLAY")
    screen:resize(30, 8)
    screen:wait("need 40x10")
    local width, height
    for _ = 1, 12 do
      width, height = math.random(40, 180), math.random(10, 50)
      screen:resize(width, height)
    end
    local fresh = tui.open(folder, tui.slatetop .. " --replay " .. path .. " --at 0.2", width, height)
    fresh:wait("REPLAY")
    screen:wait_until(function(text) return text == fresh:text() end)
    fresh:close()
  end)

  it("sends one write a frame, and no clear after the first", function()
    if not tui.has("strace") then
      pending("needs strace")
      return
    end
    local trace = folder .. "/trace"
    screen = tui.open(folder, ("strace -qq -e trace=write,dup2 -o %s %s -d 0.2 %s"):format(trace, tui.slatetop,
      server.address))
    screen:wait("live 0.2s")
    screen:press("2")
    screen:wait("EV/s")
    screen:press("q")
    screen:wait("status=0")
    -- A frame is gathered in memory (which standard output is between two dup2), then written.
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

  it("takes clicks", function()
    open("--mouse yes " .. server.address, 94, 30) -- as wide as a click can report
    local y, x = 0, nil
    for line in screen:wait("Events"):gmatch("([^\n]*)\n") do
      y = y + 1
      local at = not x and line:find("Events", 1, true)
      if at then x = { y, utf8.len(line:sub(1, at)) } end
    end
    -- Pasted, so that the bytes come together, as a terminal sends them.
    local place = string.char(32 + x[2], 32 + x[1]):gsub("'", "'\\''")
    screen:tmux(("set-buffer '\27[M %s\27[M#%s'"):format(place, place)) -- down and up
    screen:tmux("paste-buffer")
    screen:wait("[8 Events]")
  end)

  it("puts the terminal back when it is killed", function()
    for _, case in ipairs { { "TERM", 130 }, { "HUP", 130 }, { "QUIT", 130 }, { "SEGV", 139 }, { "ABRT", 134 } } do
      open(folder .. "/nobody.sock")
      screen:wait("DOWN")
      tui.run(("kill -%s %s"):format(case[1], screen:console_pid()))
      screen:wait("status=" .. case[2])
      assert.is_true(screen:line_is_restored(), "after " .. case[1])
      assert.is_nil(screen:text():find("Overview", 1, true), "the screen of before is back")
      screen:close()
    end
    screen = nil
  end)

  it("takes a trial back when a signal ends it", function()
    for _, signal in ipairs { "TERM", "HUP", "QUIT" } do
      open()
      screen:wait("live 1s")
      screen:press("t", "Enter")
      screen:wait("slabs automove")
      screen:press("Down", "5")
      screen:wait("goes back after 5 min")
      screen:press("S", "Escape")
      screen:wait("TRIAL ")
      tui.run(("kill -%s %s"):format(signal, screen:console_pid()))
      screen:wait("status=130")
      local said = tui.run("cat " .. folder .. "/errors")
      assert.truthy(said:find("a trial is on and goes back now", 1, true), signal .. said)
      assert.truthy(said:find("→ off", 1, true), signal .. said)
      screen:close()
    end
    screen = nil
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

  it("stays ASCII in a locale without UTF-8, and without colour on request", function()
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

  it("ends with 74 on a full disk, and silently when the reader goes", function()
    local command = tui.slatetop .. " %s " .. server.address
    local output, code = tui.run("{ " .. command:format("-b -n 2 -d 0.1") .. " >/dev/full; }")
    assert.equal(74, code)
    assert.equal("slatetop: cannot write: No space left on device\n", output)
    output, code = tui.run("{ { " .. command:format("-b -n 100 -d 0.1") .. "; echo status=$? >&2; } | head -n 1; }")
    assert.equal(0, code)
    assert.truthy(output:find("status=0\n", 1, true), output)
    assert.is_nil(output:find("slatetop:", 1, true), output)
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

  it("ends batch mode with 130 when a signal interrupts it", function()
    local _, code = tui.run(("timeout --preserve-status 1 %s -b -n 1000 %s"):format(tui.slatetop, server.address))
    assert.equal(130, code)
  end)

  it("prints its version and its options", function()
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
