-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl completion SHELL: a script that completes slatectl's commands and options, made from its own parser.
local M = {}

function M.declare(command)
    command:argument("shell", "bash, zsh or fish."):choices({ "bash", "zsh", "fish" }):argname("SHELL")
end

function M.run(context, parsed)
    if context.json then
        return nil, "completion writes a script for a shell: it takes no --json, --jsonl or --csv", "usage"
    end
    local parser = require("slate.cli.main").parser("*")
    context:out(parser["get_" .. parsed.shell .. "_complete"](parser), "\n")
    return 0
end

return M
