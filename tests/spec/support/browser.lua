-- SPDX-License-Identifier: BSD-3-Clause
--- A page in a real browser without a screen: Debian's chromium, where it is installed.
local server = require "support.server"

local M = {}

local PROGRAM <const> = "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
    .. "--disable-extensions"

-- The first script of a page: collects errors from then on.
local CATCH <const> = [[<script>window.troubles = [];
window.addEventListener("error", function (e) { window.troubles.push(String(e.message)); });
window.addEventListener("securitypolicyviolation", function (e) { window.troubles.push("asks for " + e.blockedURI); });
</script>]]
-- The last script of a page: prints the result of the function `probe` as JSON.
local TELL <const> = [[<script>(function () { var told;
try { told = (%s)(); } catch (e) { told = { troubles: [String(e)] }; }
told.troubles = (told.troubles || []).concat(window.troubles); told.width = window.innerWidth;
var pre = document.createElement("pre"); pre.id = "probe"; pre.textContent = JSON.stringify(told);
document.body.appendChild(pre); }());</script>]]

local function run(folder, arguments)
    return server.capture(("HOME=%s timeout 120 %s --user-data-dir=%s/browser %s 2>/dev/null"):format(
        server.quoted(folder), PROGRAM, server.quoted(folder), arguments))
end

--- The reason for having no browser; nil when there is one.
function M.absent(folder)
    if not os.execute("command -v chromium >/dev/null") then
        return "chromium is not installed (Debian: apt install chromium)"
    elseif not run(folder, "--dump-dom 'data:text/html,<p>here</p>'"):find("here", 1, true) then
        return "chromium is installed and does not start here"
    end
end

-- A browser's window has a least width, a frame has none. The frame's result is on the outer page once that has loaded.
local FRAME <const> = [[<!DOCTYPE html><html><body style="margin:0"><iframe style="border:0;width:%dpx;height:900px"
srcdoc="%s"></iframe><script>window.addEventListener("load", function () {
document.body.appendChild(document.importNode(document.querySelector("iframe").contentDocument.getElementById("probe"),
true)); });</script></body></html>]]

--- Opens a page, runs a probe (JavaScript: a function that returns an object) at its end, and returns the object, with
-- troubles (a list of error texts) and width. options: width and is_dark.
function M.probe(folder, page, probe, options)
    local path = folder .. "/probed.html"
    local file = assert(io.open(path, "w"))
    local head, head_end = page:find("<head>", 1, true)
    local body = assert(page:find("</body>", 1, true), "a page without an end")
    assert(head, "a page without a head")
    local tell = TELL:gsub("%%s", function() return probe end)
    local whole = page:sub(1, head_end) .. CATCH .. page:sub(head_end + 1, body - 1) .. tell .. page:sub(body)
    file:write(FRAME:format(options.width, (whole:gsub("&", "&amp;"):gsub('"', "&quot;"))))
    file:close()
    local dom = run(folder, ("%s --window-size=%d,900 --dump-dom %s"):format(
        options.is_dark and "--blink-settings=preferredColorScheme=0" or "", math.max(options.width, 800),
        server.quoted("file://" .. path)))
    local told = assert(dom:match('<pre id="probe">(.-)</pre>'), "the browser told nothing: " .. dom:sub(1, 200))
    return require("dkjson").decode((told:gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&amp;", "&")))
end

return M
