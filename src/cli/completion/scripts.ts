import type { Shell } from '../shell-commands.ts';

/** The line with which the program says that files stand for a word. */
export const FILES_LINE = ':files';

/** The empty word of PowerShell, some versions of which pass no empty argument on to a program; those pass this one as an empty one. */
export const EMPTY_WORD = '""';

/**
 * The scripts of the shells. Each asks this program for the candidates of the last word, one per line with its meaning behind a tab, and
 * writes nothing else to the prompt: an error of the program is no candidate.
 */
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# longhaul: eval "$(longhaul completion bash)" in ~/.bashrc
_longhaul() {
  # Bash breaks words at "=" and ":", this program does not: the whole words are those of the line.
  local line current kept
  local -a words
  read -r -a words <<< "\${COMP_LINE:0:COMP_POINT}"
  [[ \${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]} - 1]}"
  kept="\${current%"\${current##*[=:]}"}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == '${FILES_LINE}' ]]; then
      # The bash of macOS has no compopt.
      compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$current"))
      return 0
    fi
    line="\${line%%$'\\t'*}"
    COMPREPLY+=("\${line#"$kept"}")
  done < <("\${words[0]}" completion bash -- "\${words[@]:1}" 2>/dev/null)
  return 0
}
complete -F _longhaul longhaul
`,
  zsh: `#compdef longhaul
# longhaul: eval "$(longhaul completion zsh)" in ~/.zshrc, behind compinit
_longhaul() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    if [[ $line == '${FILES_LINE}' ]]; then
      _files
      return
    fi
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}\${\${(M)line%$'\\t'*}:+:\${line#*$'\\t'}}")
  done
  (( \${#found} )) && _describe 'longhaul' found
}
compdef _longhaul longhaul
`,
  fish: `# longhaul: longhaul completion fish | source, in ~/.config/fish/config.fish
function __longhaul_complete
    set -l words (commandline -opc)
    set -l lines ($words[1] completion fish -- $words[2..-1] (commandline -ct) 2>/dev/null)
    if test "$lines" = '${FILES_LINE}'
        __fish_complete_path (commandline -ct)
        return
    end
    for line in $lines
        echo $line
    end
end
complete -c longhaul -f -a '(__longhaul_complete)'
`,
  powershell: `# longhaul: longhaul completion powershell | Out-String | Invoke-Expression, in $PROFILE
Register-ArgumentCompleter -Native -CommandName longhaul -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -le $cursorPosition } | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '${EMPTY_WORD}' }
    # In quotes: the script by which npm starts programs on Windows would lose bare dashes.
    & longhaul completion powershell '--' @words 2>$null | Where-Object { $_ -ne '${FILES_LINE}' } | ForEach-Object {
        $value, $meaning = $_ -split "\\t", 2
        if (-not $meaning) { $meaning = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $meaning)
    }
}
`,
};
