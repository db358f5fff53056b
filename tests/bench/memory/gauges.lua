-- SPDX-License-Identifier: BSD-3-Clause
--- Figures of a server: its own statistics, and the system's.

local M = {}

--- Pages of each class that has any, by class number; of memcached and of slated alike.
function M.pages(server)
  local pages = {}
  for name, value in pairs(server:stats("slabs")) do
    local class = name:match("^(%d+):total_pages$")
    if class and tonumber(value) > 0 then
      pages[tonumber(class)] = tonumber(value)
    end
  end
  return pages
end

--- Items of each class that has any, by class number.
function M.items(server)
  local items = {}
  for name, value in pairs(server:stats("items")) do
    local class = name:match("^items:(%d+):number$")
    if class and tonumber(value) > 0 then
      items[tonumber(class)] = tonumber(value)
    end
  end
  return items
end

--- The number of the class with the most, and how many.
function M.largest(by_class)
  local best, most
  for class, count in pairs(by_class) do
    if not most or count > most then
      best, most = class, count
    end
  end
  return best, most
end

--- Pages that changed classes since the start: moved by a mode, or taken at once by a class in need.
function M.moves(server)
  local moved = tonumber(server:stats().slabs_moved) or 0
  return moved + (tonumber(server:stats("slated").page_steals) or 0)
end

--- The least number of page moves from the first to the present sizes of the classes. All moves beyond that went to and
--- fro.
function M.net_moves(before, now)
  local gained, lost = 0, 0
  for class, pages in pairs(now) do
    gained = gained + math.max(0, pages - (before[class] or 0))
  end
  for class, pages in pairs(before) do
    lost = lost + math.max(0, pages - (now[class] or 0))
  end
  return math.min(gained, lost)
end

--- Memory that the system counts for the process, in bytes.
function M.resident_bytes(server)
  local file = assert(io.open(("/proc/%d/status"):format(server.pid)))
  local kib = file:read("a"):match("VmRSS:%s*(%d+) kB")
  file:close()
  return tonumber(kib) * 1024
end

return M
