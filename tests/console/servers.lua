-- Servers for a slatetop that a spec drives (tui.lua). Each listens under a path in the spec's own process, so that all
-- that slatetop has sent is answered before any time passes: by a real server, over a connection for each of
-- slatetop's, or by a table of replies.
local lfs = require "lfs"
local real = require "support.server"
local socket = require "socket"
local unix = require "socket.unix"

local M = {}

local PATIENCE_S <const> = 300 -- only a hang takes that long
local READ_BYTES <const> = 65536

local running = {} -- servers that listen

local Server = {}
Server.__index = Server

-- A server at a path. `session` makes an object for each connection: its `answer` takes a line and returns the text of
-- a reply ("" for none), the size of the pieces, and whether the connection then ends; nothing when the server crashes
-- on the line. Its `unasked` and `close`, if any, return text that is sent without a request, and end it.
local function listen(self)
  local listener = unix.stream()
  os.remove(self.socket)
  assert(listener:bind(self.socket))
  assert(listener:listen())
  listener:settimeout(0)
  self.listener, self.peers = listener, {}
  running[#running + 1] = self
  return self
end

local function hang_up(self, peer)
  peer.is_gone = true
  peer.connection:shutdown("both") -- a program started meanwhile may have its descriptor, too
  peer.connection:close()
  if peer.session.close then peer.session:close() end
  for i, one in ipairs(self.peers) do
    if one == peer then table.remove(self.peers, i) break end
  end
end

-- Closes the listener and all connections.
local function close(self)
  for i, one in ipairs(running) do
    if one == self then table.remove(running, i) break end
  end
  if self.listener then self.listener:close() end
  for i = #(self.peers or {}), 1, -1 do hang_up(self, self.peers[i]) end
  self.listener = nil
  os.remove(self.socket)
end

-- Sends a piece of the pending bytes. True when some were sent.
local function send_some(self, peer)
  if #peer.out == 0 or peer.is_gone then return false end
  local last, problem, sent = peer.connection:send(peer.out, 1, math.min(#peer.out, peer.piece or #peer.out))
  sent = last or sent or 0
  peer.out = peer.out:sub(sent + 1)
  if problem == "closed" or #peer.out == 0 and peer.ends then hang_up(self, peer) end
  return sent > 0
end

-- Reads a connection's bytes, and answers whole lines. True when there were any.
local function answer_lines(self, peer)
  local got, problem, part = peer.connection:receive(READ_BYTES)
  got = got or part
  if problem == "closed" and got == "" then
    hang_up(self, peer)
    return true
  end
  peer.inbox = peer.inbox .. got
  while not peer.ends do
    local line, rest = peer.inbox:match("^([^\n]-)\r?\n(.*)")
    if not line then break end
    peer.inbox = rest
    local text, piece, ends = peer.session:answer(line)
    if not text then -- the server has died
      close(self)
      return true
    end
    peer.out, peer.piece, peer.ends = peer.out .. text, piece, ends
  end
  if peer.ends and peer.out == "" then hang_up(self, peer) end
  return got ~= ""
end

-- Serves a server's sockets once. True when anything came or went.
local function serve(self)
  local has_moved = false
  for connection in function() return self.listener and self.listener:accept() end do
    connection:settimeout(0)
    self.peers[#self.peers + 1] = { connection = connection, session = self.session(), inbox = "", out = "" }
    has_moved = true
  end
  for _, peer in ipairs({ table.unpack(self.peers) }) do
    if peer.session.unasked and not peer.is_gone then peer.out = peer.out .. peer.session:unasked() end
    if not peer.is_gone and not peer.ends then has_moved = answer_lines(self, peer) or has_moved end
    has_moved = send_some(self, peer) or has_moved
  end
  return has_moved
end

--- Answers all that has come. True when there was anything.
function M.serve()
  local has_moved = false
  for _, server in ipairs({ table.unpack(running) }) do
    if not server.hangs then has_moved = serve(server) or has_moved end
  end
  return has_moved
end

--- Waits for a request; false after a minute without one.
function M.await()
  local sockets = {}
  for _, server in ipairs(running) do
    sockets[#sockets + 1] = server.listener
    for _, peer in ipairs(server.peers) do sockets[#sockets + 1] = peer.connection end
  end
  return #socket.select(sockets, nil, PATIENCE_S) > 0
end

--- A server that answers as `session()`'s objects do.
function M.canned(path, session) return listen(setmetatable({ socket = path, session = session }, Server)) end

-- ---- a real server behind the path ----

local Session = {}
Session.__index = Session

local function backend(self)
  local connection = unix.stream()
  connection:settimeout(PATIENCE_S)
  assert(connection:connect(self.process.address))
  return connection
end

-- When this returns, a page on its way has arrived.
local function await_move(session, moved_before)
  local deadline = socket.gettime() + PATIENCE_S
  repeat
    local moved = tonumber(session:answer("stats"):match("STAT slabs_moved (%d+)"))
    if moved and moved > moved_before then return end
  until socket.gettime() > deadline
  error("a page that the server agreed to move does not come")
end

function Session:answer(line)
  local stored = line:match("^set %S+ %d+ %d+ (%d+)")
  if stored and not self.head then -- the value is in the next line
    self.head = line
    return ""
  end
  local moved = line:find("^slabs reassign") and tonumber(self:answer("stats"):match("STAT slabs_moved (%d+)") or 0)
  self.connection:send((self.head and self.head .. "\r\n" or "") .. line .. "\r\n")
  self.head = nil
  local lines = {}
  repeat
    local one, problem = self.connection:receive("*l")
    if not one then return table.concat(lines), nil, problem end
    lines[#lines + 1] = one .. "\r\n"
  until not one:find("^STAT ")
  if moved and lines[1] == "OK\r\n" then await_move(self, moved) end
  self.is_stream = line:find("^watch") ~= nil
  return table.concat(lines)
end

-- Lines of a stream, as far as they have come.
function Session:unasked()
  if not self.is_stream then return "" end
  self.connection:settimeout(0)
  local _, _, part = self.connection:receive(READ_BYTES)
  return part or ""
end

function Session:close() self.connection:close() end

--- Starts a cache server, which does not answer while its `hangs` is true. arguments: more options, a blank between.
-- login: user and password, with a blank between, of a server with -Y.
function M.start(program, path, arguments, login)
  local self = setmetatable({ socket = path, program = program, words = { "-m", "64", "-t", "2" },
    login = login and ("set login 0 0 %d\r\n%s\r\n"):format(#login, login) or "" }, Server)
  for word in (arguments or ""):gmatch("%S+") do table.insert(self.words, word) end
  self.session = function() return setmetatable({ connection = backend(self) }, Session) end
  self:start()
  return self
end

function Server:start()
  self.process = real.start({ binary = self.program ~= "build/bin/slated" and real.memcached() or nil,
    args = self.words })
  listen(self)
end

function Server:stop()
  close(self)
  if self.process then self.process:stop() end
  self.process = nil
end

--- Ends all that listen.
function M.stop_all()
  for _, one in ipairs({ table.unpack(running) }) do one:stop() end
end

--- Waits until lines of a stream that slatetop watches are there.
function Server:await_stream()
  local streams = {}
  for _, peer in ipairs(self.peers) do
    if peer.session.is_stream then streams[#streams + 1] = peer.session.connection end
  end
  assert(#socket.select(streams, nil, PATIENCE_S) > 0, "nothing comes on the stream")
end

--- Sends raw bytes, then quit, and returns everything that comes back; "" when there is no server.
function Server:ask(text)
  if not self.process then return "" end
  local connection = backend(self)
  connection:send(self.login .. text .. "quit\r\n")
  local whole, _, part = connection:receive("*a")
  connection:close()
  local answer = whole or part or ""
  return self.login ~= "" and answer:gsub("^STORED\r\n", "") or answer
end

--- Fills the cache: count values of size bytes under prefix.
function Server:fill(prefix, count, size)
  local value = ("x"):rep(size)
  local lines = {}
  for i = 1, count do
    lines[#lines + 1] = ("set %s%d 0 0 %d noreply\r\n%s\r\n"):format(prefix, i, size, value)
  end
  self:ask(table.concat(lines) .. "version\r\n")
end

--- The present pages of each class, by the server's statistics.
function Server:pages()
  local pages = {}
  for class, count in self:ask("stats slabs\r\n"):gmatch("STAT (%d+):total_pages (%d+)") do
    pages[tonumber(class)] = tonumber(count)
  end
  return pages
end

function Server:setting(name)
  return self:ask("stats settings\r\n"):match("STAT " .. name .. " ([^\r\n]*)")
end

--- Lets another program talk to the server itself under the path, while `action` runs.
function Server:directly(action)
  assert(os.rename(self.socket, self.socket .. ".aside"))
  assert(lfs.link(self.process.address, self.socket, true))
  local results = table.pack(action())
  os.remove(self.socket)
  assert(os.rename(self.socket .. ".aside", self.socket))
  return table.unpack(results, 1, results.n)
end

return M
