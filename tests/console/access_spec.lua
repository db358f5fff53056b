-- slatetop on a server with users: what the role of one does not allow is not offered, and the reason is shown.
package.path = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") .. "/?.lua;" .. package.path
local tui = require "tui"

local describe = tui.has("tmux") and describe or pending

describe("slatetop and roles", function()
  local folder, server, screen

  local function write(name, text)
    local file = assert(io.open(folder .. "/" .. name, "w"))
    file:write(text)
    file:close()
    tui.run(("chmod 600 %s/%s"):format(folder, name))
  end

  local function open(name)
    screen = tui.open(folder, ("%s -d 0.2 -P %s/%s %s"):format(tui.slatetop, folder, name, server.socket), 120, 40)
    screen:wait("live 0.2s")
  end

  before_each(function()
    folder = tui.make_folder()
    write("users", "rita:pass:word:read\nadam:a:admin\n")
    write("reader", "rita:pass:word:read\n")
    write("admin", "adam:a:admin\n")
    server = tui.start_server("build/bin/slated", folder, ("-o no_slab_automove -Y %s/users"):format(folder), "adam a")
  end)

  after_each(function()
    if screen then screen:close() end
    server:stop()
    screen = nil
    tui.remove_folder(folder)
  end)

  it("offers no change to a user who may only read, and says why", function()
    open("reader")
    screen:wait("ROLE read")
    screen:press("t")
    screen:wait("ROLE read: nothing can be sent")
    screen:press("S")
    screen:wait("ROLE read, and changes need admin: nothing was sent")
    screen:press("Escape", "4")
    screen:wait("ROLE read: nothing can be sent")
    assert.equal("0", server:setting("slab_automove"))
    assert.truthy(server:ask("stats slated\r\n"):find("role_refusals 0\r\n", 1, true), "nothing was tried")
  end)

  it("lets an admin change the server", function()
    open("admin")
    screen:press("t")
    screen:wait("capital S sends it")
    screen:press("S")
    screen:wait("→ utility")
    assert.equal("utility", server:setting("slab_automove"))
  end)
end)
