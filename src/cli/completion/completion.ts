import { UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { didYouMean, oneLine } from '../../core/domain/text.ts';
import type { CommandIo, FlagsOf, ServerFlags } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type COMPLETION, type Shell, SHELLS } from '../shell-commands.ts';
import { type Candidate, candidatesFor, type ServerValue } from './candidates.ts';
import { EMPTY_WORD, FILES_LINE, SCRIPTS } from './scripts.ts';

/** Bytes of a meaning: a shell shows it on one line. */
const MEANING_BYTES = 80;

/** Prints the script of a shell, or what may stand for the last of the words. */
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
    const list = candidates.from === 'here' ? candidates.list : await fromServer(candidates.value, words, terminal.env);
    const current = words.at(-1) ?? '';
    for (const one of list) if (one.value.startsWith(current)) output.print(lineOf(one));
  }
  return EXIT_CODES.ok.code;
}

/** Loads what asks a server only for a word that needs one: a person waits at the prompt. */
async function fromServer(value: ServerValue, words: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Candidate[]> {
  const { serverValues } = await import('./server-values.ts');
  return serverValues(value, serverFlags(words), env);
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
