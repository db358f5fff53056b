-- SPDX-License-Identifier: BSD-3-Clause
-- The pictures of the README: screens become SVG letter by letter, and the committed ones exist, complete and small.
local command = require "support.command"
local screen = require "screen"

local function row_of(text) return screen.row(screen.cells(text)[1]) end

-- Whether a foreign parser accepts the text as XML.
local function is_xml(path)
    return os.execute("python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' " .. path
        .. " 2>/dev/null") == true
end

describe("a screen as a picture", function()
    it("has its letters as text, each word in its column", function()
        assert.equal('<text x="8.4" y="13.5" textLength="16.8">ab</text>'
            .. '<text x="42" y="13.5" textLength="25.2">c d</text>', row_of(" ab  c d"))
        assert.equal('<text x="0" y="13.5" textLength="25.2">&lt;&amp;&gt;</text>', row_of("<&>"))
        assert.equal("", row_of("   "))
    end)

    it("has colours, bold and reverse", function()
        assert.truthy(row_of("\27[31mx\27[0m"):find('fill="#ff6b60"', 1, true))
        assert.truthy(row_of("\27[38;5;231mx"):find('fill="#ffffff"', 1, true))
        assert.truthy(row_of("\27[38;2;1;2;255mx"):find('fill="#0102ff"', 1, true))
        assert.truthy(row_of("\27[1mx\27[22my"):find('font%-weight="700"[^>]*>x</text><text[^>]*>y</text>'))
        assert.truthy(row_of("\27[7mx"):find('^<rect x="0" width="8.4" height="18" fill="#d5dae0"/><text[^>]*#14171b'))
        assert.equal(row_of("x"), row_of("\27[31;1;4;7m\27[mx"))
    end)
end)

describe("the README", function()
    it("shows pictures that are there, whole and small", function()
        local count, bytes = 0, 0
        for path in command.read_file("README.md"):gmatch("%f[%w]man/pictures/[%w-]+%.svg") do
            local text = command.read_file(path)
            count, bytes = count + 1, bytes + #text
            assert.truthy(is_xml(path), path)
            assert.truthy(text:find("</svg>%s*$"), path)
            assert.is_nil(text:find("<script", 1, true))
            assert.is_true(#text < 300 * 1024, path)
        end
        assert.is_true(count >= 8, count .. " pictures")
        assert.is_true(bytes < 800 * 1024, bytes .. " bytes")
    end)
end)
