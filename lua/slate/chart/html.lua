-- SPDX-License-Identifier: BSD-3-Clause
--- Pages of HTML that need nothing but themselves: text made safe, and the document around a body.
--
-- A page asks no other machine for anything, and its policy forbids it: whatever a server calls itself, its keys and
-- its settings are shown as text and never run.
local json = require "slate.base.json"
local script = require "slate.chart.html_script"
local style = require "slate.chart.html_style"

local M = {}

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
local REPLACEMENT <const> = utf8.char(0xFFFD)

--- Any bytes as UTF-8 of one line: what is none, control characters and those that turn the direction of text become
-- U+FFFD.
function M.clean(text)
    text = json.only_utf8(text):gsub("%c", REPLACEMENT)
    return (text:gsub("\xe2\x80[\xaa-\xae]", REPLACEMENT):gsub("\xe2\x81[\xa6-\xa9]", REPLACEMENT)
        :gsub("\xc2[\x80-\x9f]", REPLACEMENT))
end

--- Text between tags or in the quotes of an attribute. Numbers are taken, too.
function M.escape(text)
    return (M.clean(tostring(text)):gsub("[&<>\"']", ENTITIES))
end

--- A value as JSON that may stand within a script: it holds no "<".
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

--- The button that goes from the system's colours to the others and back.
M.TOGGLE = '<button id="theme" type="button" hidden>dark or light</button>\n'

return M
