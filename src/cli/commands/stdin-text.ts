import { untilInterrupted } from '../interruption.ts';
import type { Terminal } from '../terminal.ts';

/** Returns a text from the command line; for "-", the whole of stdin. */
export async function textOrStdin(text: string, { stdin, signal }: Pick<Terminal, 'stdin' | 'signal'>): Promise<string> {
  return text === '-' ? await untilInterrupted(signal, readAll(stdin)) : text;
}

async function readAll(stdin: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  // The line break at the end belongs to the shell, not to the user's text.
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}
