import { UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { didYouMean, oneLine } from '../../core/domain/text.ts';
import type { CommandIo, FlagsOf, ServerFlags } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type COMPLETION, type Shell, SHELLS } from '../shell-commands.ts';
import { type Candidate, candidatesFor, type ServerCandidates } from './candidates.ts';

/** The most bytes of a description: a shell shows it on one line. */
const MEANING_BYTES = 80;

/** Prints the script of a shell, or the candidates for the last word. */
export async function completion({ output, terminal, parser }: CommandIo, flags: FlagsOf<typeof COMPLETION>): Promise<number> {
  const { shell } = flags;
  if (!isShell(shell))
    throw new UsageError(`There is no completion for "${shell}"${didYouMean(shell, SHELLS) || '.'} There is one for ${SHELLS.join(', ')}`);
  if (flags.words.length === 0) {
    output.write(SCRIPTS[shell]);
    return EXIT_CODES.ok.code;
  }
  if (parser === undefined) return EXIT_CODES.ok.code;
  const words = flags.words.map((word, index) => (word === EMPTY_WORD && index === flags.words.length - 1 ? '' : word));
  const candidates = candidatesFor(parser, words);
  if (candidates.from === 'files') output.print(FILES_LINE);
  else {
    const list = candidates.from === 'here' ? candidates.list : await fromServer(candidates, words, terminal.env);
    const current = words.at(-1) ?? '';
    for (const one of list) if (one.value.startsWith(current)) output.print(lineOf(one));
  }
  return EXIT_CODES.ok.code;
}

/** Loads the client code only for a word that needs the server: a person waits at the prompt. */
async function fromServer(
  { before, ...asked }: ServerCandidates,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<readonly Candidate[]> {
  const { serverValues } = await import('./server-values.ts');
  const found = await serverValues(asked, serverFlags(words), env);
  return found.map((one) => ({ ...one, value: `${before}${one.value}` }));
}

function isShell(text: string): text is Shell {
  return SHELLS.some((shell) => shell === text);
}

function lineOf({ value, meaning }: Candidate): string {
  return meaning === undefined || meaning === '' ? value : `${value}\t${oneLine(meaning, MEANING_BYTES)}`;
}

/** Returns the options of the command line that select the server. */
function serverFlags(words: readonly string[]): ServerFlags {
  const valueOf = (name: string): string | undefined => {
    const at = words.findIndex((word) => word === `--${name}` || word.startsWith(`--${name}=`));
    return at < 0 ? undefined : (words[at]?.split('=')[1] ?? words[at + 1]);
  };
  return defined({ address: valueOf('address'), namespace: valueOf('namespace'), tenant: valueOf('tenant'), user: valueOf('user') });
}

/** The output that tells the script to complete files. */
export const FILES_LINE = ':files';

/** The empty word in PowerShell: some versions drop empty arguments, but pass this one as empty. */
export const EMPTY_WORD = '""';

/**
 * The scripts of the shells. Each asks this program for the candidates for the last word, one per line with its description after a tab,
 * and writes nothing else to the prompt: an error of the program is not a candidate.
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
