-- slatetop(1) has all options, keys, columns and rates of the program: both come from the same tables.
local server = require "support.server"
local tui = require "tui"

-- The manual as plain words: no macros, no escapes, one blank between words.
local function manual()
  local text = server.read_file("man/slatetop.1")
  text = text:gsub("\\&", ""):gsub("\\e", "\\"):gsub("\\%(%*D", "Δ"):gsub("\\%-", "-"):gsub("\n%.It Li ", "\n")
  return (text:gsub("[%s\"]+", " "))
end

local function capital(text) return text:sub(1, 1):upper() .. text:sub(2) end

describe("slatetop(1)", function()
  local text = manual()
  local output = tui.run("build/bin/slatetop --describe")

  it("has a table to be compared with", function()
    assert.is_true(select(2, output:gsub("\n", "")) > 60)
  end)

  for line in output:gmatch("[^\n]+") do
    local kind, name = line:match("^(%a+)\t([^\t]*)\t")
    local meaning = line:match("([^\t]*)$")
    it(("lists the %s %s%s"):format(kind, name, kind == "choice" and " " .. meaning or ""), function()
      if kind == "choice" then -- a word that an option takes
        assert.truthy(text:lower():find("[ ,]" .. meaning:gsub("%-", "%%-") .. "[ ,.:]"), "missing: " .. meaning)
        return
      end
      assert.truthy(text:find(capital(meaning) .. ".", 1, true), "missing: " .. meaning)
      if kind ~= "option" then
        assert.truthy(text:find(" " .. name .. " ", 1, true), "missing: " .. name)
      else
        local short, long = name:match("^%-(%a), %-%-([%a-]+)")
        assert.truthy(text:find(("Fl %s , Fl Fl %s"):format(short, long), 1, true), "missing: " .. name)
      end
    end)
  end
end)
