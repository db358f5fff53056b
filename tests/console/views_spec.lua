-- The views that need more than a snapshot, against real servers: pages, one class, the state during a pause, and an
-- operator's rules.
local tui = require "tui"

local servers = {}
for _, program in ipairs { "build/bin/slated", "memcached" } do
  if tui.has(program) then servers[#servers + 1] = program end
end

for _, program in ipairs(servers) do
  describe("slatetop's views on " .. program, function()
    local folder, server, screen
    local is_slated <const> = program:find("slated", 1, true) ~= nil

    setup(function()
      folder = tui.make_folder()
      server = tui.start_server(program, folder, "-o no_slab_automove")
      server:fill("small", 300000, 100)
      server:fill("large", 2000, 1000)
      for _ = 1, 20 do
        server:ask(("get small1\r\n"):rep(200) .. ("get large2 large3\r\n"):rep(50))
      end
    end)

    teardown(function()
      server:stop()
      tui.remove_folder(folder)
    end)

    local function open(width, height, environment)
      screen = tui.open(folder, "-d 0.2 " .. server.socket, width, height, environment)
      screen:wait("live 0.2s")
      screen:wait("ops/s")
    end

    after_each(function() screen:close() end)

    if not is_slated then
      it("counts the requests of ten seconds, tells what was lost, and shows the item of a key", function()
        open(120, 30)
        screen:go("9", "9 counts every request", "9", "counting: 0 requests")
        local others = ""
        for i = 11, 20 do others = others .. ("get small%d\r\n"):format(i) end
        server:ask(("get small1\r\n"):rep(60) .. ("get large2\r\n"):rep(30) .. others)
        server:await_stream()
        screen:wait("counting: 100 requests")
        screen:step(10000)
        screen:wait("100 requests, gets and stores, in 10 s, all counted")
        screen:go("Enter", "small1: class ")
        screen:go("s", "by bytes", "Home", "key: large2")
      end)
    end

    it("maps every page, and moves those that are marked after a review", function()
      local before, rich, poor = server:pages(), nil, nil
      for class, pages in pairs(before) do
        if pages > 10 then rich = class end
        if pages < 10 and (not poor or pages > before[poor]) then poor = class end
      end
      open(100, 30)
      screen:go("3", is_slated and "EXACT: a cell is 1 page" or "ESTIMATED: a cell is 1 page")
      -- Rows are in order of size, and so are class ids.
      local function go_to(class)
        screen:press("g")
        for id, pages in pairs(before) do
          if id < class and pages > 0 then screen:press("j") end
        end
      end
      go_to(rich)
      screen:go("f", ("of class %d marked"):format(rich), { "+", "-", "+" }, "◆")
      go_to(poor)
      screen:go("m", ("slabs reassign %d %d"):format(rich, poor), { "Enter", "Escape" })
      screen:step_until_gone("review")
      assert.same(before, server:pages())
      screen:go("m", ("slabs reassign %d %d"):format(rich, poor), { "1", "S" },
        "1 of 1 page from class") -- the outcome: the words before it say "1 of 1 page" when the server counts it
      assert.equal(before[poor] + 1, server:pages()[poor])
      screen:go("8", ("class %d: %d → %d pages"):format(poor, before[poor], before[poor] + 1), "u",
        ("slabs reassign %d %d"):format(poor, rich))
    end)

    it("holds the screen when paused, and says which data the past lacks", function()
      open()
      screen:go("2", "[2 Classes]", "9")
      local key = "9 counts every request"
      if is_slated then -- the sampled keys differ from one start to the next
        key = tui.step_until(function() return screen:text():match("\n +1 (%l+%d+) ") end)
      end
      screen:wait(key)
      screen:go("Space", { "PAUSED", key }, "6")
      -- The overview requests a curve now and then, perhaps before the pause.
      tui.step_until(function()
        local text = screen:text()
        return text:find("[6 Curves]", 1, true) and (text:find(is_slated and "not recorded" or "needs slated", 1, true)
          or is_slated and text:find("sampled reads", 1, true))
      end, function() return screen:text() end)
      screen:go("5", "ESTIMATED", ".")
      screen:step_until_gone("PAUSED")
      screen:wait(is_slated and "EXACT" or "ESTIMATED")
    end)
  end)
end
