-- SPDX-License-Identifier: BSD-3-Clause
--- The views in the order of their keys, and the open one. The view of one class has no key of its own: other views
--- open and close it.
local find = require "slate.base.find"

local M = {}

local modules -- by the name of a part of `ui`: a function that loads the view or overlay

--- Sets them. The views know this module, so that it does not know them: slate.console.view_modules does.
function M.set_modules(functions)
    modules = functions
end

--- The views: a list of { name, title, open (the command that goes to it) }.
M.LIST = {
    { name = "overview", title = "Overview", open = "view_overview" },
    { name = "classes", title = "Classes", open = "view_classes" },
    { name = "pages", title = "Pages", open = "view_pages" },
    { name = "tune", title = "Tune", open = "view_tune" },
    { name = "sizes", title = "Sizes", open = "view_sizes" },
    { name = "curves", title = "Curves", open = "view_curves" },
    { name = "fleet", title = "Fleet", open = "view_fleet" },
    { name = "events", title = "Events", open = "view_events" },
    { name = "hotkeys", title = "Keys", open = "view_hotkeys" },
    { name = "diff", title = "Diff", open = "view_diff" },
    { name = "latency", title = "Latency", open = "view_latency" },
}

--- The index of a view; nil for an unknown name.
function M.index(name)
    return (find.by(M.LIST, "name", name))
end

--- The module of a view or an overlay, by the name of its part of `ui`.
function M.module(name)
    return modules[name]()
end

--- The view on the screen: its module and its name.
function M.current(ui)
    local name = ui.class_is_open and "class" or M.LIST[ui.view].name
    return M.module(name), name
end

--- Goes to a view. ui.from: the name of the view before.
function M.open(ui, index)
    ui.chosen = index == ui.view and ui.chosen or nil
    ui.from = index ~= ui.view and M.LIST[ui.view].name or ui.from
    ui.view, ui.class_is_open, ui.back = index, false, nil
end

--- The operator chooses a class on the view. ui.chosen: that class, until another view is opened; nil: none.
-- ui.classes.cursor: the class that was chosen last on any view, under the cursor of Classes, Pages and Tune.
function M.choose_class(ui, id)
    ui.chosen, ui.classes.cursor = id, id
end

--- Goes to Overview, from which `go_back` returns while it stays open. wall_s: the moment to return to, of an entry
--- that goes to another one; false: live; nil: entering changes no time.
function M.enter(ui, wall_s)
    local back = { view = ui.view, from = ui.from, wall_s = wall_s }
    M.open(ui, 1)
    ui.back = back
end

--- Goes back to where Overview was entered. Returns how it was entered; nil: it was opened in another way.
function M.go_back(ui)
    local back = ui.back
    if back then
        M.open(ui, back.view)
        ui.from = back.from
    end
    return back
end

--- Shows one class over the view.
function M.open_class(ui, id)
    ui.class_is_open, ui.focus, ui.class = true, id, nil
    M.choose_class(ui, id)
end

--- The operator's choices on all screens, as at a start. The part of a view or overlay is made when it is first used.
function M.ui()
    return setmetatable({ view = 1, class_is_open = false }, { __index = function(ui, name)
        local part = modules[name] and M.module(name).state()
        rawset(ui, name, part)
        return part
    end })
end

--- True if an overlay is open. Its module is not loaded to find out.
function M.is_open(ui, overlay)
    local part = rawget(ui, overlay)
    return part and part.is_open or false
end

return M
