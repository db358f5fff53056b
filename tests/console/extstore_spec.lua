-- memcached's storage on flash in a real terminal: shown, and its settings changed and taken back, on a memcached that
-- has some; in a line why not, on others.
package.path = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") .. "/?.lua;" .. package.path
local tui = require "tui"

-- The newest memcached at hand that is built with extstore.
local function with_extstore()
  for _, program in ipairs { "build/peer/memcached", "memcached" } do
    if tui.has(program) and tui.run(program .. " -h"):find("ext_path", 1, true) then return program end
  end
end

local memcached = with_extstore()
if not tui.has("tmux") or not memcached then
  describe("slatetop's view of storage on flash", function()
    pending(memcached and "needs tmux" or "no memcached here is built with extstore")
  end)
  return
end

describe("slatetop's view of storage on flash", function()
  local folder, server, screen

  local function start(program, arguments)
    folder = tui.make_folder()
    server = tui.start_server(program, folder, arguments and arguments:format(folder) or "")
  end

  local function open(width, height)
    screen = tui.open(folder, ("SLATE_AUDIT=%s/audit.log %s -d 0.2 %s"):format(folder, tui.slatetop, server.socket),
      width, height)
    screen:wait("live 0.2s")
    screen:wait("ops/s")
    screen:press("e")
  end

  after_each(function()
    screen:close()
    server:stop()
    tui.remove_folder(folder)
  end)

  describe("on a memcached with some", function()
    before_each(function()
      start(memcached, "-o ext_page_size=2,ext_wbuf_size=2,ext_path=%s/flash:64m,no_lru_crawler")
      server:fill("key", 30000, 3000)
    end)

    it("shows what is there, and changes a setting after a review, and takes it back", function()
      open(80, 24)
      -- The class of headers, which stays in memory, comes once memcached has written the first items to flash.
      for _, words in ipairs { "storage on flash: 64M", "ON FLASH", "holes", "io queue", "flash max sleep us",
        "stays" } do
        screen:wait(words)
      end
      assert.equal("512", server:setting("ext_item_size"))
      screen:press("+", "t")
      screen:wait("extstore item_size 640")
      assert.equal("512", server:setting("ext_item_size"))
      screen:press("S")
      screen:wait("flash item size 512 → 640")
      assert.equal("640", server:setting("ext_item_size"))
      screen:press("u")
      screen:wait("extstore item_size 512")
      screen:press("S")
      screen:wait("flash item size 640 → 512")
      assert.equal("512", server:setting("ext_item_size"))
      local audit = assert(io.open(folder .. "/audit.log")):read("a")
      assert.truthy(audit:find("ext_item_size", 1, true), audit)
    end)

    it("shows the pages and what a setting means where there is room", function()
      open(160, 50)
      screen:wait("pages by what is written to them")
      screen:wait("Items at least as large are written to flash")
      screen:press("G", "-")
      screen:wait("*flash max sleep us")
      screen:press("r", "Tab")
      screen:wait_gone("storage on flash")
    end)
  end)

  it("says why there is none", function()
    start(memcached)
    open(80, 24)
    screen:wait("this memcached was started without storage on flash: -o ext_path=FILE:SIZE")
    screen:close()
    server:stop()
    tui.remove_folder(folder)
    start("build/bin/slated")
    open(80, 24)
    screen:wait("slated has no storage on flash: all items are in memory")
  end)
end)
