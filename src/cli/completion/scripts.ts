/** The shells for which there is a completion script. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Whether there is a completion script for the shell. */
export function isShell(name: string): name is Shell {
  return SHELLS.some((shell) => shell === name);
}

// Bash also splits words at = : and @; the script joins them again, as they were typed. $2 is the
// part of the last word that it replaces. The bash 3.2 of macOS must be able to run this.
const BASH = `# Completion for bash. Put this line into ~/.bashrc:  source <(crosstalk completion bash)
_crosstalk() {
  local line=\${COMP_LINE:0:COMP_POINT} words=() count=0 word rest i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    rest=\${line#"\${line%%[![:space:]]*}"}
    # The cursor may be inside the last word.
    ((i == COMP_CWORD)) && word=$rest
    if ((count > 0)) && [[ -n $line && $rest == "$line" ]]; then
      words[count - 1]+=$word
    else
      words[count++]=$word
    fi
    line=\${rest#"$word"}
  done
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      $'\\tfiles') compopt -o default 2>/dev/null ;;
      $'\\tfolders') compopt -o dirnames 2>/dev/null ;;
      *) COMPREPLY[\${#COMPREPLY[@]}]=\${line%%$'\\t'*} ;;
    esac
  done < <(command crosstalk __complete --bash="$2" -- "\${words[@]:1}" 2>/dev/null)
}
complete -o nosort -F _crosstalk crosstalk 2>/dev/null || complete -F _crosstalk crosstalk
# The short name, where no other program has it.
if ! type ct >/dev/null 2>&1; then
  ct() { command crosstalk "$@"; }
  complete -o nosort -F _crosstalk ct 2>/dev/null || complete -F _crosstalk ct
fi
`;

const ZSH = `#compdef crosstalk
# Completion for zsh. Put this line into ~/.zshrc, after compinit:  source <(crosstalk completion zsh)
# Or save it as _crosstalk in a folder of $fpath.
_crosstalk() {
  local -a lines values shown typed
  local line value text
  typed=("\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}")
  lines=("\${(@f)$(command crosstalk __complete -- "\${typed[@]}" 2>/dev/null)}")
  for line in "\${lines[@]}"; do
    value=\${line%%$'\\t'*}
    text=\${line#*$'\\t'}
    if [[ $line == $'\\t'(files|folders) ]]; then
      [[ $PREFIX == --*=* ]] && compset -P '*='
      if [[ $text == files ]]; then _files; else _files -/; fi
      return
    fi
    [[ -n $value ]] || continue
    values+=("$value")
    shown+=("$value\${text:+  -- $text}")
  done
  # What is typed before = or a comma stays as it is.
  if [[ $PREFIX == --*=* ]]; then
    value="\${(Q)PREFIX%%=*}="
    compset -P '--[a-z-]##=' && values=("\${values[@]#$value}")
  fi
  compadd -l -V crosstalk -d shown -a values
}
if [[ \${funcstack[1]} == _crosstalk ]]; then
  _crosstalk "$@"
else
  compdef _crosstalk crosstalk
  # The short name, where no other program has it.
  if ! whence ct >/dev/null; then
    ct() { command crosstalk "$@" }
    compdef _crosstalk ct
  fi
fi
`;

const FISH = `# Completion for fish. Put this line into ~/.config/fish/config.fish:  crosstalk completion fish | source
function __crosstalk_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l typed (commandline -ct)
    # A quote that is still open.
    set -l word (string unescape -- "$typed"; or string unescape -- "$typed'"; or string unescape -- "$typed\\"")
    # File names are offered with the option before them.
    set -l option (string match -r -- '^--[a-z-]+=' "$word")
    set -l path (string replace -r -- '^--[a-z-]+=' '' "$word")
    for line in (command crosstalk __complete -- $words "$word" 2>/dev/null)
        switch $line
            case \\tfiles
                printf '%s\\n' "$option"(__fish_complete_path "$path")
            case \\tfolders
                printf '%s\\n' "$option"(__fish_complete_directories "$path" '')
            case '*'
                printf '%s\\n' $line
        end
    end
end
set -l names crosstalk
# The short name, where no other program has it.
if not type -q ct
    function ct
        command crosstalk $argv
    end
    set -a names ct
end
for name in $names
    complete -c $name -e
    complete -c $name -f -k -a '(__crosstalk_complete)'
end
`;

/** Completion scripts: each one calls `crosstalk __complete` and passes on its output. */
export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
