-- SPDX-License-Identifier: BSD-3-Clause
--- slatectl completion SHELL: a script that completes the command lines of all four programs.
--
-- The scripts call `slatectl completion words`, so that slate.cli.candidates alone decides the candidates.
local M = {}

local SCRIPTS <const> = {
    bash = [=[
# Completion of slatectl, slatetop, slated and slate-load for bash, which asks slatectl.
_slate() {
    local line=${COMP_LINE:0:COMP_POINT} words=() cur prefix candidate
    read -ra words <<<"$line"
    [[ $line == *[[:blank:]] ]] && words+=("")
    cur=${words[-1]}
    prefix=${cur%"${cur##*[=:]}"} # bash parts words here too, and puts what is left in the last part's place
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        if [[ $candidate == :files ]]; then
            compopt -o filenames 2>/dev/null
            while read -r candidate; do
                COMPREPLY+=("${candidate#"$prefix"}")
            done < <(compgen -f -- "$cur")
        else
            COMPREPLY+=("${candidate#"$prefix"}")
        fi
    done < <(slatectl completion words -- "${words[0]##*/}" "${words[@]:1}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -F _slate slatectl slatetop slated slate-load]=],
    zsh = [=[
#compdef slatectl slatetop slated slate-load
# Completion of slatectl, slatetop, slated and slate-load for zsh, which asks slatectl.
_slate() {
    local line word about
    local -a plain open
    for line in "${(@f)$(slatectl completion words -- "${words[1]:t}" "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        word=${line%%$'\t'*} about=${${line#"$word"}/$'\t'/:}
        case $word in
        "") ;;
        :files) _files ;;
        *=) open+=("${word//:/\\:}$about") ;;
        *) plain+=("${word//:/\\:}$about") ;;
        esac
    done
    (( ${#plain} )) && _describe value plain
    (( ${#open} )) && _describe value open -S ''
}
if [ "${funcstack[1]}" = "_slate" ]; then
    _slate "$@"
else
    compdef _slate slatectl slatetop slated slate-load
fi]=],
    fish = [=[
# Completion of slatectl, slatetop, slated and slate-load for fish, which asks slatectl.
function __slate_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set words[1] (string replace -r '.*/' '' -- $words[1])
    for line in (slatectl completion words -- $words "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
for program in slatectl slatetop slated slate-load
    complete -c $program -f -a '(__slate_words)'
end]=],
}

function M.declare(command)
    command:argument("shell", "bash, zsh or fish; with words, the words that may stand in the place of the "
        .. "last WORD, for the scripts of these shells."):choices({ "bash", "zsh", "fish", "words" }):argname("SHELL")
    command:argument("words", "With words: a command line up to the cursor, behind --."):args("*"):argname("WORD")
end

function M.run(context, parsed)
    if context.json then
        return nil, "completion writes a script for a shell: it takes no --json, --jsonl or --csv", "usage"
    elseif parsed.shell ~= "words" then
        if #parsed.words > 0 then
            return nil, ("completion %s takes no further words"):format(parsed.shell), "usage"
        end
        context:out(SCRIPTS[parsed.shell], "\n")
        return 0
    end
    local words = parsed.words
    local rows = require("slate.cli.candidates").of(context, words[1] or "", table.move(words, 2, #words, 1, {}))
    for _, one in ipairs(rows) do
        context:out(one[1], one[2] ~= "" and one[1] ~= ":files" and "\t" .. one[2] or "", "\n")
    end
    return 0
end

return M
