-- The operator's choices and input: saved from run to run, commands by their names, keys without a meaning, values that
-- no server accepts, the question before a recording; and batch mode over a recording.
local dkjson = require "dkjson"
local real = require "support.server"
local tui = require "tui"

local read, write = real.read_file, real.write_file

describe("choices in slatetop", function()
  local folder, server, screen

  local function open(arguments, width, height, environment)
    if screen then screen:close() end
    screen = tui.open(folder, arguments, width, height, "XDG_STATE_HOME=" .. folder .. "/state " .. (environment or ""))
    return screen
  end

  local function leave() screen:go("q", "status=0") end

  before_each(function()
    folder = tui.make_folder()
    server = tui.start_server("build/bin/slated", folder, "-o no_slab_automove")
    server:fill("key", 1000, 100)
  end)

  after_each(tui.clean)

  it("comes back with its last state, unless told not to", function()
    local path = folder .. "/state/slate/slatetop"
    open(server.socket)
    screen:wait("live 1s")
    leave()
    assert.is_nil(read(path), "who only looks leaves no file")
    open(server.socket)
    screen:wait("live 1s")
    screen:go({ ":sort size", "Enter" }, "classes by SIZE", "T", "theme: light")
    leave()
    assert.truthy(read(path):find("\nsort = size up\n", 1, true), read(path))
    assert.truthy(read(path):find("\ntheme = light\n", 1, true), read(path))
    open(server.socket)
    screen:wait("live 1s")
    screen:go("2", "classes by SIZE")
    leave()
    open("--no-state " .. server.socket)
    screen:wait("live 1s")
    screen:go("2", "classes by EV/s", "T")
    leave()
    assert.truthy(read(path):find("\ntheme = light\n", 1, true), "and then keeps nothing")
  end)

  it("runs commands by their names", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:go({ ":set verbosity 1", "Enter" }, "will send verbosity 1", "Escape")
    assert.equal("0", server:setting("verbosity"))
    screen:go({ ":quit", "Enter" }, "status=0")
  end)

  it("says which key means nothing", function()
    open(server.socket)
    screen:wait("live 1s")
    screen:go("X", "X does nothing in Overview: F1 lists the keys", "2")
    screen:step_until_gone("does nothing")
  end)

  it("asks before it records", function()
    local function recordings() return (tui.run("ls | grep -c '^slatetop-.*jsonl'")) end
    local before = recordings()
    open("-d 0.2 " .. server.socket)
    screen:wait("live 0.2s")
    screen:go("R", "R again: yes", "2", "[2 Classes]")
    assert.equal(before, recordings())
    leave()
  end)

  it("names servers as their operator does", function()
    tui.run(("mkdir -p %s/config/slate && echo 'mine = %s' >%s/config/slate/servers"):format(folder, server.socket,
      folder))
    local environment = ("XDG_CONFIG_HOME=%s/config "):format(folder)
    local output, code = tui.batch(folder, "-b mine", environment)
    assert.equal(0, code, output)
    assert.truthy(output:find(server.socket, 1, true), output)
    tui.run(("echo 'a b c' >>%s/config/slate/servers"):format(folder))
    output, code = tui.batch(folder, "-b mine", environment)
    assert.equal(64, code)
    assert.truthy(output:find("servers:2: ", 1, true), output)
  end)

  it("prints a recording as JSON and as comma-separated values, for the given number of moments", function()
    local path = folder .. "/rec.jsonl"
    assert.equal(0, select(2, tui.batch(folder, ("-b -n 10 -d 0.1 -w %s %s"):format(path, server.socket))))
    local output, code = tui.batch(folder, "-j -n 3 -p " .. path)
    assert.equal(0, code, output)
    local documents = {}
    for line in output:gmatch("[^\n]+") do documents[#documents + 1] = assert(dkjson.decode(line, nil, dkjson.null)) end
    assert.equal(3, #documents)
    assert.equal("slate/snapshot/1", documents[1].schema)
    assert.same({ 0, dkjson.null }, { documents[1].rates.gets, documents[1].rates.hit_ratio })
    assert.equal(67108864, documents[1].general.limit_maxbytes)
    assert.is_true(documents[1].time_s < documents[2].time_s and documents[2].time_s < documents[3].time_s)
    assert.truthy(documents[3].rates and documents[3].health and documents[3].figures[1].state)
    output, code = tui.batch(folder, "--csv -p " .. path)
    assert.equal(0, code, output)
    local heads, row = output:match("^([^\r]*)\r\n([^\r]*)\r\n")
    assert.equal("time_s,server,", heads:sub(1, 14))
    assert.equal(select(2, heads:gsub(",", "")), select(2, row:gsub(",", "")))
    output, code = tui.batch(folder, "-j --csv -p " .. path)
    assert.equal(64, code, output)
  end)

  it("says which line of a damaged recording is the first that is no snapshot", function()
    local path = folder .. "/damaged.jsonl"
    write(path, "{\n{}\n")
    local output, code = tui.batch(folder, "-b -p " .. path)
    assert.equal(64, code, output)
    assert.truthy(output:find("damaged.jsonl is not a recording: line 1 is not a snapshot: ", 1, true), output)
  end)

  it("holds an operator's rule to the texts that it may make, as slatectl does", function()
    local path = folder .. "/rules.lua"
    write(path, "return { rules = { { name = 'hog', check = function() "
      .. "local s = 'x' while true do s = s .. s end end } } }")
    local output, code = tui.batch(folder, "-b -n 2 -d 0.1 " .. server.socket, "SLATE_RULES=" .. path)
    assert.equal(0, code, output)
    assert.truthy(output:find("rule hog is switched off: makes a text of more than 64 KiB", 1, true), output)
  end)

  it("ends with 69 when one of several servers is dead, and prints the others", function()
    local output, code = tui.batch(folder, ("-b %s %s/nobody.sock"):format(server.socket, folder))
    assert.equal(69, code, output)
    assert.truthy(output:find("items, ", 1, true), output)
  end)
end)
