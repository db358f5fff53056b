-- The fleet of slatetop in a real terminal: one change for several servers, and lists of servers that change.
local tui = require "tui"

describe("slatetop's fleet", function()
  local folder, one, two, screen

  before_each(function()
    folder = tui.make_folder()
    tui.run("mkdir " .. folder .. "/b")
    one = tui.start_server("build/bin/slated", folder)
    two = tui.start_server("build/bin/slated", folder .. "/b")
  end)

  after_each(tui.clean)

  local function set(words) screen:go(":", "choices", { "set " .. words, "Enter" }) end

  it("sends one reviewed change to all servers that are marked", function()
    screen = tui.open(folder, ("-d 0.3 %s %s"):format(one.socket, two.socket), 110, 30)
    screen:wait("2 servers, 2 up")
    screen:go({ "m", "m" }, "2 marked")
    set("slab_automove_window 20")
    screen:wait("to 2 marked servers")
    screen:wait("now 10")
    assert.equal("10", one:setting("slab_automove_window"))
    screen:press("S")
    screen:step_until_gone("to 2 marked servers") -- the result may soon replace the line that says so
    for _, server in ipairs({ one, two }) do
      tui.step_until(function() return server:setting("slab_automove_window") == "20" end)
    end
    screen:go({ "g", "m" }, "1 marked")
    set("slab_automove_window 30")
    screen:wait("to 1 marked server")
    screen:press("S")
    screen:step_until_gone("to 1 marked server")
    tui.step_until(function()
      local first, second = one:setting("slab_automove_window"), two:setting("slab_automove_window")
      return first == "30" and second == "20" or first == "20" and second == "30"
    end)
    screen:go({ "g", "m" }, "2 marked")
    set("slab_automove_window 30")
    screen:wait("1 marked server has the value already")
    screen:wait("20 on 1")
    screen:press("Escape")
    screen:step_until_gone("will send")
  end)

  it("takes back one change on all servers that are marked", function()
    screen = tui.open(folder, ("-d 0.3 %s %s"):format(one.socket, two.socket), 110, 30)
    screen:wait("2 servers, 2 up")
    one:ask("config set slab_automove_window 15\r\n")
    screen:go({ "m", "m" }, "2 marked")
    set("slab_automove_window 20")
    screen:go({}, { "to 2 marked servers", "2 marked servers" }, "S")
    for _, server in ipairs({ one, two }) do
      tui.step_until(function() return server:setting("slab_automove_window") == "20" end)
    end
    screen:go("8", { "automove window 10 s → 20 s", "automove window 15 s → 20 s", "SERVER" }, "7", "2 marked")
    screen:go("u", { "Undo: review, to 2 marked servers", "automove window 10", "automove window 15" }, "S")
    tui.step_until(function()
      return one:setting("slab_automove_window") == "15" and two:setting("slab_automove_window") == "10"
    end)
  end)

  it("acts on the row under the cursor, not on the server opened last", function()
    screen = tui.open(folder, ("-d 0.3 %s %s"):format(one.socket, two.socket), 110, 30)
    screen:wait("2 servers, 2 up")
    screen:press("s") -- by name: b/cache.sock is the first row
    local first = one.socket < two.socket and one or two
    local second = first == one and two or one
    local function chosen(server)
      screen:wait(server.socket .. ": ") -- the message about the server under the cursor
    end
    screen:go({ "g", "Enter" }, "[1 Overview]", { "7", "G" })
    chosen(second)
    screen:press("x")
    screen:wait("│   " .. second.socket) -- the box names its server
    screen:press("Escape")
    screen:step_until_gone("why automove")
    screen:go({ "t", "g", "Enter" }, "will send slabs automove 0", "S")
    screen:step_until_gone("will send")
    tui.step_until(function() return second:setting("slab_automove") == "0" end)
    assert.not_equal("0", first:setting("slab_automove"))
    screen:press("g")
    chosen(first)
    screen:go("x", "│   " .. first.socket, "Escape")
    screen:step_until_gone("why automove")
    screen:go("u", first.socket .. ": nothing to undo", { "G", "u" }, "Undo: review", "S")
    tui.step_until(function() return second:setting("slab_automove") == first:setting("slab_automove") end)
    screen:go({ "g", "1" }, { "[1 Overview]", "slatetop  " .. first.socket })
  end)
end)
