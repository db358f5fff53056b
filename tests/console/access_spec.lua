-- slatetop on a server with users: commands that a user's role does not allow are not offered, and the reason is shown.
local real = require "support.server"
local tui = require "tui"

describe("slatetop and roles", function()
  local folder, server, screen

  local function write(name, text)
    real.write_file(folder .. "/" .. name, text)
    tui.run(("chmod 600 %s/%s"):format(folder, name))
  end

  local function open(name)
    screen = tui.open(folder, ("-d 0.2 -P %s/%s %s"):format(folder, name, server.socket), 120, 40)
    screen:wait("live 0.2s")
  end

  before_each(function()
    folder = tui.make_folder()
    write("users", "rita:pass:word:read\nadam:a:admin\n")
    write("reader", "rita:pass:word:read\n")
    write("admin", "adam:a:admin\n")
    server = tui.start_server("build/bin/slated", folder, ("-o no_slab_automove -Y %s/users"):format(folder), "adam a")
  end)

  after_each(tui.clean)

  it("offers no change to a user who may only read, and gives the reason", function()
    open("reader")
    screen:wait("ROLE read")
    screen:go({ "t", "Enter" }, "ROLE read: nothing can be sent", "S",
      "ROLE read, and changes need admin: nothing was sent",
      { "Escape", "4" }, "ROLE read: nothing can be sent",
      "9", "needs the role admin; this user's role is read")
    screen:step(1000)
    assert.equal("0", server:setting("slab_automove"))
    assert.truthy(server:ask("stats slated\r\n"):find("role_refusals 0\r\n", 1, true), "nothing was tried")
  end)

  it("says to a user without a login that the server wants one, and watches the other servers", function()
    tui.canned(folder .. "/other.sock", require("replies").new("1.6.45").session)
    screen = tui.open(folder, ("-d 0.2 %s %s/other.sock"):format(server.socket, folder), 120, 40)
    screen:wait("down: the server refuses to answer")
    screen:step(3000)
    screen:go("1", "refuses to answer: it wants a login: start with -P FILE", "7", { "other.sock", " 1.6.45 " })
    for view = 1, 9 do screen:go(tostring(view), ("[%d "):format(view)) end
    screen:go("q", "status=0")
  end)

  it("lets an admin with the right password change the server", function()
    write("wrong", "adam:b:admin\n")
    local output, code = tui.batch(folder, ("-b -P %s/wrong %s"):format(folder, server.socket))
    assert.equal(69, code)
    assert.truthy(output:find("login refused: wrong user or password in the file of -P (", 1, true), output)
    open("admin")
    screen:go({ "t", "Enter" }, "capital S sends it", "S", "→ utility")
    assert.equal("utility", server:setting("slab_automove"))
  end)
end)
