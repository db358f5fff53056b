-- SPDX-License-Identifier: BSD-3-Clause
-- Gives slate.console.view_list the views and overlays. A module is loaded when it is first shown: loading all would
-- delay the first paint.
require("slate.console.view_list").set_modules({
    overview = function() return require "slate.console.views.overview" end,
    classes = function() return require "slate.console.views.classes" end,
    pages = function() return require "slate.console.views.pages" end,
    tune = function() return require "slate.console.views.tune" end,
    sizes = function() return require "slate.console.views.sizes" end,
    curves = function() return require "slate.console.views.curves" end,
    fleet = function() return require "slate.console.views.fleet" end,
    events = function() return require "slate.console.views.events" end,
    hotkeys = function() return require "slate.console.views.hotkeys" end,
    diff = function() return require "slate.console.views.diff" end,
    latency = function() return require "slate.console.views.latency" end,
    class = function() return require "slate.console.views.class" end,
    -- overlays
    explain = function() return require "slate.console.overlay.explain" end,
    filter = function() return require "slate.console.overlay.filter" end,
    why = function() return require "slate.console.overlay.why" end,
    columns = function() return require "slate.console.overlay.columns" end,
    picker = function() return require "slate.console.overlay.picker" end,
    review = function() return require "slate.console.review" end,
    palette = function() return require "slate.console.overlay.palette" end,
    help = function() return require "slate.console.overlay.help" end,
})
