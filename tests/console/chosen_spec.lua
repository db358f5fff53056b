-- What the operator chooses and types: kept from run to run, commands by their names, keys without a meaning, values
-- that no server takes, the question before a recording; and batch mode over a recording.
package.path = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") .. "/?.lua;" .. package.path
local dkjson = require "dkjson"
local tui = require "tui"

local describe = tui.has("tmux") and describe or pending

describe("choices in slatetop", function()
  local folder, server, screen

  local function open(arguments, width, height, environment)
    if screen then screen:close() end
    screen = tui.open(folder, tui.slatetop .. " " .. arguments, width, height,
      ("XDG_STATE_HOME=%s/state %s"):format(folder, environment or ""))
    return screen
  end

  local function type_line(text)
    for letter in text:gmatch(".") do
      screen:press(letter == " " and "Space" or letter)
    end
  end

  local function leave()
    screen:press("q")
    screen:wait("status=0")
  end

  local function read(path)
    local file = io.open(path)
    local text = file and file:read("a")
    if file then file:close() end
    return text
  end

  before_each(function()
    folder = tui.make_folder()
    server = tui.start_server("build/bin/slated", folder, "-o no_slab_automove")
    server:fill("key", 1000, 100)
  end)

  after_each(function()
    if screen then screen:close() end
    screen = nil
    server:stop()
    tui.remove_folder(folder)
  end)

  it("comes back with what it was left with, unless told not to", function()
    local path = folder .. "/state/slate/slatetop"
    open(server.socket)
    screen:wait("live 1s")
    leave()
    assert.is_nil(read(path), "who only looks leaves no file")
    open(server.socket)
    screen:wait("live 1s")
    screen:press(":")
    type_line("sort size")
    screen:press("Enter")
    screen:wait("classes by SIZE")
    screen:press("T")
    screen:wait("theme: light")
    leave()
    assert.truthy(read(path):find("\nsort = size up\n", 1, true), read(path))
    assert.truthy(read(path):find("\ntheme = light\n", 1, true), read(path))
    open(server.socket)
    screen:wait("live 1s")
    screen:press("2")
    screen:wait("classes by SIZE")
    leave()
    open("--no-state " .. server.socket)
    screen:wait("live 1s")
    screen:press("2")
    screen:wait("classes by EV/s")
    screen:press("T")
    leave()
    assert.truthy(read(path):find("\ntheme = light\n", 1, true), "and then keeps nothing")
  end)

  it("says in one line that what it remembers is broken, and begins afresh", function()
    tui.run(("mkdir -p %s/state/slate && echo 'sort = bananas' >%s/state/slate/slatetop"):format(folder, folder))
    open(server.socket)
    screen:wait("slatetop:1: sort can't be 'bananas'")
    screen:press("2")
    screen:wait("classes by EV/s")
  end)

  it("runs commands by their names, and completes them", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:press(":")
    type_line("ev")
    screen:wait("page moves, settings, what you sent (8)")
    screen:press("Tab")
    screen:wait(":events_")
    screen:press("Enter")
    screen:wait("[8 Events]")
    screen:press(":")
    type_line("bananas")
    screen:press("Enter")
    screen:wait("there is no command 'bananas'")
    screen:press("Escape")
    screen:wait_gone(":bananas")
    screen:press(":")
    type_line("set verbosity 1")
    screen:press("Enter")
    screen:wait("will send verbosity 1")
    screen:press("Escape")
    assert.equal("0", server:setting("verbosity"))
    screen:press(":")
    type_line("quit")
    screen:press("Enter")
    screen:wait("status=0")
  end)

  it("says which key means nothing", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:press("X")
    screen:wait("X does nothing in Overview: F1 lists the keys")
    screen:press("2")
    screen:wait_gone("does nothing")
  end)

  it("finds a key in its help", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:press("h")
    screen:wait("/ searches")
    screen:press("/")
    type_line("trial")
    screen:wait("keep the change on trial")
    screen:wait_gone("previous view")
    screen:press("Enter", "Escape")
    screen:wait_gone("/ searches")
  end)

  it("refuses a value of Tune that the server would not take, at once", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:press("4")
    screen:wait("automove mode")
    screen:press("Enter")
    screen:wait("new value:")
    type_line("bananas")
    screen:press("Enter")
    screen:wait("one of off")
    screen:wait("new value: bananas_")
    for _ = 1, #"bananas" do screen:press("BSpace") end
    type_line("ratio")
    screen:press("Enter")
    screen:wait_gone("new value:")
  end)

  it("asks before it records", function()
    local function recordings() return (tui.run("ls | grep -c '^slatetop-.*jsonl'")) end
    local before = recordings()
    open("-d 0.2 " .. server.socket)
    screen:wait("live 0.2s")
    screen:press("R")
    screen:wait("R again: yes")
    screen:press("2")
    screen:wait("[2 Classes]")
    assert.equal(before, recordings())
    leave()
  end)

  it("measures round trips while somebody looks", function()
    open("-d 0.5 " .. server.socket)
    screen:wait("live 0.5s")
    screen:press("l")
    screen:wait("[l Latency]")
    screen:wait("half within")
    screen:wait("measured by slatetop:")
  end)

  it("names servers as their operator does", function()
    tui.run(("mkdir -p %s/config/slate && echo 'mine = %s' >%s/config/slate/servers"):format(folder, server.socket,
      folder))
    local environment = ("env XDG_CONFIG_HOME=%s/config "):format(folder)
    local output, code = tui.run(environment .. tui.slatetop .. " -b mine")
    assert.equal(0, code, output)
    assert.truthy(output:find(server.socket, 1, true), output)
    tui.run(("echo 'a b c' >>%s/config/slate/servers"):format(folder))
    output, code = tui.run(environment .. tui.slatetop .. " -b mine")
    assert.equal(64, code)
    assert.truthy(output:find("servers:2: ", 1, true), output)
  end)

  it("prints a recording as JSON and as comma-separated values, so many moments as asked for", function()
    local path = folder .. "/rec.jsonl"
    assert.equal(0, select(2, tui.run(("%s -b -n 10 -d 0.1 -w %s %s"):format(tui.slatetop, path, server.socket))))
    local output, code = tui.run(("%s -j -n 3 -p %s"):format(tui.slatetop, path))
    assert.equal(0, code, output)
    local documents = {}
    for line in output:gmatch("[^\n]+") do documents[#documents + 1] = assert(dkjson.decode(line)) end
    assert.equal(3, #documents)
    assert.equal("slate/snapshot/1", documents[1].schema)
    assert.is_true(documents[1].time_s < documents[2].time_s and documents[2].time_s < documents[3].time_s)
    assert.truthy(documents[3].rates and documents[3].health and documents[3].figures[1].state)
    output, code = tui.run(("%s --csv -p %s"):format(tui.slatetop, path))
    assert.equal(0, code, output)
    local heads, row = output:match("^([^\r]*)\r\n([^\r]*)\r\n")
    assert.equal("time_s,server,", heads:sub(1, 14))
    assert.equal(select(2, heads:gsub(",", "")), select(2, row:gsub(",", "")))
    output, code = tui.run(("%s -j --csv -p %s"):format(tui.slatetop, path))
    assert.equal(64, code, output)
  end)

  it("ends with 69 when one of several servers is dead, and prints the others", function()
    local output, code = tui.run(("%s -b %s %s/nobody.sock"):format(tui.slatetop, server.socket, folder))
    assert.equal(69, code, output)
    assert.truthy(output:find("items, ", 1, true), output)
  end)
end)
