# Completion of kstat and kstatlua in fish: `kstatlua --complete` says what may follow. SPDX-License-Identifier: MIT
function __kstat_complete
    set -l words (commandline -opc) (commandline -ct | string unescape)
    set -q words[2]; or set -a words ''
    set -l program (string replace -r 'kstat[^/]*$' kstatlua -- $words[1])
    type -q $program; or set program kstatlua
    set -l lines ($program --complete $words 2>/dev/null)
    if test "$lines" = \tfiles
        set -l start (commandline -ct | string match -r '^--[^=]*=')
        set -q start[1]; or set start ''
        printf '%s\n' $start(__fish_complete_path (commandline -ct | string replace -r '^--[^=]*=' ''))
    else
        set -q start[1]; or set start ''
        printf '%s\n' $lines
    end
end
complete -c kstat -f -a '(__kstat_complete)'
complete -c kstatlua -f -a '(__kstat_complete)'
