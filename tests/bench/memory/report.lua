-- SPDX-License-Identifier: BSD-3-Clause
--- Prints the experiments: one table each, a row as soon as it is known, or a line of JSON a row.

local cjson = require("cjson")

local M = {}

local Sheet = {}
Sheet.__index = Sheet
Sheet.__name = "bench.Sheet"

local LABEL_WIDTH <const> = 30

--- A sheet that first prints the compared servers.
function M.new(json, programs)
  local self = setmetatable({ json = json, good = true }, Sheet)
  local versions = {}
  for _, side in ipairs(programs.all) do
    versions[#versions + 1] = side.version
  end
  if json then
    print(cjson.encode({ experiment = "about", programs = versions }))
  else
    print(table.concat(versions, ", "))
    print(programs.pinned and "one worker, pinned to core 1; client on core 0"
      or "one core for servers and client: times are not to be compared")
  end
  return self
end

--- Begins the table of an experiment: `title`, `columns` (key, title, format of a number) and `notes`.
function Sheet:open(name, experiment)
  self.name, self.columns = name, experiment.columns
  if self.json then
    return
  end
  print(("\n%s: %s"):format(name, experiment.title()))
  local heads = { ("%-" .. LABEL_WIDTH .. "s"):format("") }
  for _, column in ipairs(self.columns) do
    local width = math.max(#column.title, column.width or 0)
    heads[#heads + 1] = ("%" .. width .. "s"):format(column.title)
  end
  print(table.concat(heads, "  "))
end

local function cell(column, value)
  if value == nil then
    return "-"
  elseif type(value) ~= "number" then
    return tostring(value)
  elseif column.format then
    return column.format:format(value)
  end
  return ("%d"):format(math.floor(value + 0.5))
end

--- Prints a row: `label` and a value a column; nil is a figure that could not be measured. A row with `wrong` values
-- fails the run.
function Sheet:row(row)
  if (row.wrong or 0) > 0 then
    self.good = false
  end
  if self.json then
    row.experiment = self.name
    print(cjson.encode(row))
    io.stdout:flush()
    return
  end
  local cells = { ("%-" .. LABEL_WIDTH .. "s"):format(row.label) }
  for _, column in ipairs(self.columns) do
    local width = math.max(#column.title, column.width or 0)
    cells[#cells + 1] = ("%" .. width .. "s"):format(cell(column, row[column.key]))
  end
  print((table.concat(cells, "  "):gsub("%s+$", "")))
  io.stdout:flush()
end

--- A row without figures: a feature that the server lacks, and the server's words.
function Sheet:absent(label, why)
  if self.json then
    print(cjson.encode({ experiment = self.name, label = label, absent = why }))
  else
    print(("%-" .. LABEL_WIDTH .. "s  not there: %s"):format(label, why))
  end
end

--- A row of an unfinished measurement; fails the run.
function Sheet:failed(label, why)
  self.good = false
  if self.json then
    print(cjson.encode({ experiment = self.name, label = label, failed = why }))
  else
    print(("%-" .. LABEL_WIDTH .. "s  failed: %s"):format(label, why))
  end
end

--- A line under the table.
function Sheet:note(text)
  if self.json then
    print(cjson.encode({ experiment = self.name, note = text }))
  else
    print(text)
  end
end

--- An experiment that ended in an error.
function Sheet:broken(message)
  self.good = false
  io.stderr:write(("bench: %s: %s\n"):format(self.name, message))
end

--- True when nothing failed and no value was wrong.
function Sheet:close()
  return self.good
end

return M
