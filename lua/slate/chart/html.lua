-- SPDX-License-Identifier: BSD-3-Clause
--- Self-contained pages of HTML: escaped text, and the document around a body.
--
-- A page loads nothing from other machines, and its policy forbids it: the name of a server, its keys and its settings
-- are shown as text and never run.
local json = require "slate.base.json"
local script = require "slate.chart.html_script"
local style = require "slate.chart.html_style"

local M = {}

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
local REPLACEMENT <const> = utf8.char(0xFFFD)

--- Any bytes as one line of UTF-8: bytes that are not UTF-8, control characters and marks that change the direction of
-- text become U+FFFD.
function M.clean(text)
    text = json.only_utf8(text):gsub("%c", REPLACEMENT)
    return (text:gsub("\xe2\x80[\xaa-\xae]", REPLACEMENT):gsub("\xe2\x81[\xa6-\xa9]", REPLACEMENT)
        :gsub("\xc2[\x80-\x9f]", REPLACEMENT))
end

--- Escapes a text or a number for use between tags or in the quotes of an attribute.
function M.escape(text)
    return (M.clean(tostring(text)):gsub("[&<>\"']", ENTITIES))
end

--- A value as JSON for use within a script: it has no "<".
function M.json(value)
    return (json.encode(value, {}):gsub("<", "\\u003c"))
end

local HEAD <const> = [[<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; ]]
    .. [[script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="data:,">
<style>
%s</style>
</head>
<body>
]]

--- A document. title: any text; body: HTML.
function M.document(title, body)
    return table.concat({ HEAD:format(M.escape(title), style.text()), body,
        '<div id="tip" hidden></div>\n<script>\n', script.text(), "</script>\n</body>\n</html>\n" })
end

--- The button that switches between the system's colours and the others.
M.TOGGLE = '<button id="theme" type="button" hidden>dark or light</button>\n'

return M
