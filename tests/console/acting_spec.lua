-- Changes from the console: sent, read back, undone to the letter, on trial, logged; on real servers.
local tui = require "tui"

-- Rows of the tune view, in its order.
local ROWS = { "automove mode", "automove ratio", "automove window s", "automove freeratio", "eviction policy",
  "policy of one class", "chunk sizes", "automatic sizes", "geometry rate %/s", "lru hot %", "lru warm %",
  "lru hot age factor", "lru warm age factor", "lru mode", "lru temp_ttl s", "memory limit MiB", "crawler",
  "crawler sleep us", "crawler tocrawl", "sample rate", "verbosity", "stats by prefix" }
local ROW = {}
for i, name in ipairs(ROWS) do ROW[name] = i - 1 end

-- Parts of a row's name that are its unit, which follows its values.
local UNITS = { s = true, us = true, MiB = true, ["%"] = true, ["%/s"] = true }

for _, program in ipairs { "build/bin/slated", "memcached" } do
  local test = tui.has(program) and describe or pending
  test("changes from slatetop on " .. program, function()
    local folder, server, screen
    local is_slated = program ~= "memcached"
    local once = is_slated and it or function() end -- for claims that hold for every server
    local proposed = is_slated and "utility" or "1" -- the mode that t proposes if automove is off

    before_each(function()
      folder = tui.make_folder()
      server = tui.start_server(program, folder, "-o no_slab_automove")
      server:fill("key", 2000, 100)
    end)

    after_each(tui.clean)

    local function open(arguments, width, height)
      local log = folder .. "/state/log"
      screen = tui.open(folder, ("--audit-log %s %s %s"):format(log, arguments or "", server.socket), width, height)
      screen:wait("live 1s")
      return log
    end

    local function settings()
      local extra = is_slated and server:ask("config get\r\n") or ""
      return server:ask("stats settings\r\n") .. extra
    end

    -- Types a new value into a row of the tune view, which accepts it or shows the reason of its refusal.
    local function choose(row, value, refusal)
      screen:press("g")
      for _ = 1, ROW[row] do screen:press("Down") end
      screen:wait("─ " .. row)
      screen:go("e", "new value: _", value, "new value: " .. value .. "_", "Enter")
      if refusal then
        screen:wait(refusal)
        screen:press("Escape")
      end
      screen:step_until_gone("new value:")
    end

    -- slatectl, with the record of changes that slatetop writes.
    local function slatectl(words)
      return server:directly(function()
        return tui.run(("SLATE_AUDIT=%s/state/log build/bin/slatectl -s %s %s"):format(folder, server.socket, words))
      end)
    end

    local function send(told)
      screen:press("S")
      return screen:wait(told)
    end

    -- The part of "label 10 s → 15 s" before the arrow.
    local function value_before(text)
      local word = text:match("(%S+) → ")
      return UNITS[word] and text:match("(%S+) %S+ → ") or word
    end

    it("come back to the letter by undo, whatever the setting", function()
      open("", 100, 40)
      screen:go("4", "[4 Tune]")
      local changes = {
        { "automove mode", "eviction", "slabs automove 2" },
        { "lru warm %", "33", "lru tune 20 33 0.20 2.00", "for its warm queue" },
        { "lru temp_ttl s", "30", "lru temp_ttl 30" }, { "memory limit MiB", "80", "cache_memlimit 80" },
        { "crawler", "no", "lru_crawler disable" }, { "stats by prefix", "yes", "stats detail on" },
        is_slated and { "eviction policy", "sieve", "evict policy sieve" } or { "lru mode", "flat", "lru mode flat" },
        is_slated and { "sample rate", "0.2", "config set sample_rate 0.2" } or nil,
      }
      -- Rows that the view does not offer, by a dot. Two rows depend on what this server accepts, not on its version:
      -- their present value is entered, so that nothing changes.
      local is_absent = { ["policy of one class"] = true, ["lru mode"] = is_slated }
      for _, row in ipairs { "eviction policy", "chunk sizes", "automatic sizes", "geometry rate %/s",
        "sample rate" } do
        is_absent[row] = not is_slated
      end
      for label, words in pairs { ["automove window s"] = "window 33", ["automove freeratio"] = "freeratio 0.02" } do
        local name, value = words:match("(%l+) (.+)")
        local now = server:setting("slab_automove_" .. name) or value
        is_absent[label] = not server:ask(("slabs automove %s %s\r\n"):format(name, now)):find("^OK")
      end
      screen:wait("stats by prefix")
      -- A row may depend on a reply that comes after the table.
      local wrong
      tui.step_until(function()
        local table_shown = screen:text()
        wrong = nil
        for _, row in ipairs(ROWS) do
          local line = table_shown:match("\n " .. row:gsub("%p", "%%%0") .. " [^\n]*")
          if not line or (is_absent[row] or false) == (line:find("·", 1, true) ~= nil) then wrong = row end
        end
        return not wrong
      end, function() return ("the view offers %s otherwise than the server\n%s"):format(wrong, screen:text()) end)
      for _, change in ipairs(changes) do
        local before = settings()
        choose(change[1], change[2])
        screen:go("t", change[3])
        if change[4] then assert.truthy(screen:text():find(change[4], 1, true), "what " .. change[1] .. " means") end
        screen:press("Enter", "y", "s", "Enter")
        assert.equal(before, settings(), "nothing was sent for " .. change[1])
        local after = change[2]
        local was = value_before(send("→ " .. after))
        assert.are_not.equal(before, settings(), change[1])
        screen:go("u", "Undo: review")
        send("→ " .. was)
        assert.equal(before, settings(), "undo of " .. change[1])
      end
    end)

    it("are taken back one at once after the other, also where no screen shows the settings", function()
      open("", 100, 40)
      for _, change in ipairs { "verbosity 1", "lru hot 30", "lru hot 35" } do
        screen:go(":", "choices", { "set " .. change, "Enter" }, "capital S")
        send("→ " .. change:match("%d+"))
      end
      for _, value in ipairs { "30", "20" } do
        screen:go("u", "Undo: review")
        assert.is_nil(screen:text():find("another client", 1, true), screen:text())
        send("→ " .. value)
        assert.equal(value, server:setting("hot_lru_pct"))
      end
    end)

    it("of another console are events, with their author where the record has him", function()
      open("", 100, 40)
      local function watch(log)
        local other = tui.open(folder, ("--audit-log %s/%s %s"):format(folder, log, server.socket), 100, 40)
        other:go({}, "live 1s", "8")
        return other
      end
      local here, elsewhere = watch("state/log"), watch("other/log") -- as on another machine
      screen:go("4", "[4 Tune]")
      choose("lru hot age factor", "0.5")
      screen:go("t", "lru tune 20 40 0.5")
      send("→ 0.5")
      here:wait("lru hot age factor 0.2 → 0.5, by ")
      elsewhere:wait("lru hot age factor 0.2 → 0.5")
      assert.is_nil(elsewhere:text():find("0.5, by", 1, true), "a client of a UNIX socket has no address")
      assert.is_truthy(here:text():find("0.5, by %S+@%S+"), here:text())
      server:ask("verbosity 1\r\n")
      for _, one in ipairs { here, elsewhere } do
        one:wait("verbosity 0 → 1")
        assert.is_nil(one:text():find("verbosity 0 → 1, by", 1, true), "nobody knows")
      end
      screen:go("8", "lru hot age factor")
      screen:step(12000)
      assert.is_nil(screen:text():find("setting +lru hot age factor"), "its own change is no other's")
    end)

    it("on trial go back when slatetop is left, and say so", function()
      open()
      local before = settings()
      screen:go({ "t", "Enter" }, "slabs automove " .. proposed, { "Down", "5" }, "goes back after 5 min")
      send("→ " .. (is_slated and proposed or "ratio"))
      assert.equal(proposed, server:setting("slab_automove"))
      screen:go("Escape", "trial, back in 4:")
      assert.truthy(screen:text():find("TRIAL 4:%d%d"), screen:text()) -- in the title, whatever the last line says
      screen:go("q", "status=0")
      assert.equal(before, settings())
      local errors = screen:complaints()
      assert.truthy(errors:find("a trial is on and goes back now", 1, true), errors)
      assert.truthy(errors:find("→ off", 1, true), errors)
    end)

    once("are on the record that slatectl has, and slatectl undo takes them back", function()
      local cjson = require "cjson"
      local log = open("", 100, 40)
      local before = settings()
      screen:go("4", "[4 Tune]")
      choose("automove ratio", "0.6")
      choose("lru warm %", "30")
      choose("lru temp_ttl s", "45")
      choose("memory limit MiB", "80")
      screen:go("t", "Changes: review")
      send("all 4 changes made")
      local lines = {}
      for text in io.lines(log) do
        local line = cjson.decode(text)
        lines[#lines + 1] = line.what ~= "settled" and line or nil
        assert.is_true(line.unknown or line.of == #lines and line.made)
      end
      assert.equal(4, #lines)
      local was = { slab_automove_ratio = "0.80", warm_lru_pct = "40", temporary_ttl = "-1", maxbytes = "67108864" }
      for i, line in ipairs(lines) do
        assert.same({ "slate/audit/1", i, "set", server.socket, was[line.name] },
          { line.schema, line.id, line.what, line.server, line.was })
      end
      local said = slatectl("undo") -- one review sends one command
      assert.equal(4, select(2, said:gsub("is taken back", "")), said)
      assert.equal(before:gsub("temporary_ttl %-?%d+", ""), settings():gsub("temporary_ttl %-?%d+", ""))
      screen:go("u", "nothing to undo: no change to this server is on record")
    end)

    once("made by slatectl are taken back by u, and done again by ^R", function()
      open("", 100, 40)
      local before = settings()
      assert.truthy(slatectl("set hot_lru_pct 25"):find("20 -> 25", 1, true))
      assert.truthy(slatectl("set maxbytes 72m"):find("-> 75497472", 1, true))
      screen:go("u", { "Undo: review", "cache_memlimit 64" })
      send("→ 64 MiB")
      screen:go("u", "lru tune 20 40 0.20 2.00")
      send("lru hot 25 % → 20 %")
      assert.equal(before, settings())
      assert.truthy(slatectl("undo"):find("not taken back", 1, true))
      screen:go("C-r", "Redo: review")
      send("lru hot 20 % → 25 %")
      assert.equal("25", server:setting("hot_lru_pct"))
      assert.truthy(slatectl("undo"):find("hot_lru_pct: 25 -> 20", 1, true))
      assert.equal(before, settings())
    end)
  end)
end
