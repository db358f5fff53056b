-- SPDX-License-Identifier: BSD-3-Clause
--- Files packed by gzip or zstd, written and read as streams.
--
-- The name of a file (.gz, .zst) decides how it is packed; its first bytes decide how it is unpacked. A file is written
-- beside its place, under a unique name that ends with `.part`, and renamed when it is complete: so no half-written
-- file has the final name, and two writers do not meet. If any signal ends the writer, a waiting shell removes the
-- part, or, after `name_on_signal`, gives it the final name.
local shell = require "slate.base.shell"

local M = {}

local TOOLS <const> = {
    { ends = "%.gz$", begins = "^\x1f\x8b", program = "gzip" },
    { ends = "%.zst$", begins = "^%\x28\xb5\x2f\xfd", program = "zstd" }, -- % before a parenthesis
}

-- "cannot write x: No space left on device", without the file name that Lua's own message may have.
local function file_error(doing, path, problem)
    return ("cannot %s %s: %s"):format(doing, path, (tostring(problem):gsub("^.*: ", "")))
end

-- The program for a text that fits a pattern of a tool, `begins` or `ends`; nil for none.
local function program_for(text, pattern)
    for _, tool in ipairs(TOOLS) do
        if text:find(tool[pattern]) then
            return tool.program
        end
    end
    return nil
end

local function exists(program)
    return shell.run("command -v " .. program .. " >/dev/null 2>&1") == true
end

-- True for a device or a pipe: it is written to, never replaced.
local function is_special(path)
    local word = shell.word(path)
    return shell.run(("test -e %s -a ! -f %s"):format(word, word)) == true
end

local function missing(program, path)
    return nil, ("%s needs %s, which is not installed"):format(path, program), "missing"
end

local Writer = {}
Writer.__index = Writer
Writer.__name = "slate.base.packed.writer"

-- Starts a shell that waits until this process ends, and then removes the part. After the word "keep" it gives the part
-- its final name instead; the word "done" ends the shell. Nil if the shell cannot start.
local WAITS <const> = "exec >/dev/null 2>&1; trap '' HUP INT TERM; read -r word; case \"$word\" in done) ;; "
    .. "keep) read -r word || mv -f -- %s %s ;; *) rm -f -- %s ;; esac"
local function warden_of(part, path)
    local word = shell.word(part)
    return io.popen(WAITS:format(word, shell.word(path), word), "w")
end

-- Ends the waiting shell: the file is complete, or removed.
local function dismiss(warden)
    if warden then
        warden:write("done\n")
        warden:close()
    end
end

--- Opens a file to write; "-" is standard output. An existing file stays until the new one is complete. Returns the
-- writer; or nil, message, code: "file", or "missing" when the packer is not on this machine.
function M.create(path)
    if path == "-" then
        return setmetatable({ handle = io.stdout, name = "standard output" }, Writer)
    end
    local program = program_for(path, "ends")
    local is_in_place = is_special(path)
    local part = is_in_place and path or ("%s.%08x.part"):format(path, math.random(0, 0xFFFFFFFF))
    if program and not exists(program) then
        return missing(program, path)
    end
    local handle, problem = io.open(part, "wb")
    local warden = handle and not is_in_place and warden_of(part, path)
    if handle and program then
        handle:close()
        -- A signal is for this process, even if its whole group gets it: the packer packs its input to the end.
        handle, problem = io.popen(("trap '' HUP INT TERM; exec %s -c >%s"):format(program, shell.word(part)), "w")
    end
    if not handle then
        dismiss(warden)
        return nil, file_error("write", path, problem), "file"
    end
    return setmetatable({ handle = handle, name = path, part = part, is_in_place = is_in_place, warden = warden },
        Writer)
end

--- Writes strings. Returns true, or nil, message, "file".
function Writer:write(...)
    local ok, problem = self.handle:write(...)
    if not ok then
        return nil, file_error("write", self.name, problem), "file"
    end
    return true
end

--- Writes the buffered bytes: to the file, or to the packer, which may buffer them, too.
function Writer:flush()
    return self.handle:flush()
end

--- From now on, if a signal ends this process, the file gets its final name, as by `finish`. The last 4 KiB or so may
-- be missing then, and the last line may be torn. `drop` still removes the file.
function Writer:name_on_signal()
    if self.warden then
        self.warden:write("keep\n")
        self.warden:flush()
    end
end

--- Ends the file, and gives it its final name. Returns true, or nil, message, "file": then call `drop` or `leave`.
function Writer:finish()
    local ok, problem
    if not self.part then
        ok, problem = self.handle:flush()
    else
        local handle = self.handle
        self.handle = nil
        ok, problem = handle:close()
        if not ok and problem == "exit" then
            problem = "the packer failed"
        elseif ok and not self.is_in_place then
            ok, problem = os.rename(self.part, self.name)
        end
    end
    if not ok then
        return nil, file_error("write", self.name, problem), "file"
    end
    self.part = nil
    dismiss(self.warden)
    return true
end

-- Closes the file and forgets the part; the caller has removed the part, or leaves it.
local function let_go(writer)
    if writer.handle then
        writer.handle:close()
        writer.handle = nil
    end
    writer.part = nil
    dismiss(writer.warden)
end

--- Removes a file that was not finished. Does nothing after `finish` and `leave`.
function Writer:drop()
    local part = self.part
    if part then
        if not self.is_in_place then
            os.remove(part)
        end
        let_go(self)
    end
end

--- Leaves the part of a file that cannot be finished: it stays beside the final place. Returns the part's name; nil if
-- the part is empty or absent.
function Writer:leave()
    local part = not self.is_in_place and self.part or nil
    if not part then
        return nil
    end
    let_go(self)
    local file <close> = io.open(part, "rb")
    if not file or file:seek("end") == 0 then
        os.remove(part)
        return nil
    end
    return part
end

Writer.__close = Writer.drop

--- Opens a file to read, packed or not; "-" is standard input, which must not be packed. Returns a reader with `read`
-- and `close`; or nil, message, code: "input", or "missing" when the unpacker is not on this machine.
function M.open(path)
    if path == "-" then
        return io.stdin
    end
    local first, problem = require("slate.base.input").read(path, 4, true)
    if not first then
        return nil, file_error("read", path, problem), "input"
    end
    local program = program_for(first, "begins")
    if program and not exists(program) then
        return missing(program, path)
    end
    local handle
    if program then
        handle, problem = io.popen(("exec %s -dc <%s"):format(program, shell.word(path)), "r")
    else
        handle, problem = io.open(path, "rb")
    end
    if not handle then
        return nil, file_error("read", path, problem), "input"
    end
    return handle
end

return M
