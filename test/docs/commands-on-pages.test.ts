import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/run-cli.ts';
import { type Fence, fencesIn, fencesOnPages } from './fences.ts';

/** A command line of a page, in words. */
interface Line {
  at: string;
  words: string[];
}

/** Returns the calls of `longhaul` in a fence: after a prompt, variables and `npx`, up to a pipe, a redirection or a comment. */
function commandLines({ page, line, text }: Fence): Line[] {
  const joined = text.replaceAll('\\\n', '  ');
  return joined.split('\n').flatMap((one, index) => {
    const [, call] = /^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npx )?longhaul ((?:[a-z]|--?[a-z]).*)$/i.exec(one) ?? [];
    return call === undefined ? [] : [{ at: `${page}:${line + index}`, words: wordsOf(call) }];
  });
}

function wordsOf(call: string): string[] {
  const words: string[] = [];
  for (const [whole, single, double, plain] of call.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|([^\s'"]+)/g)) {
    if (/^(?:#|\||>|&&|;|\d?>)/.test(whole)) break;
    words.push(single ?? double ?? plain ?? '');
  }
  return words;
}

/** Returns what the parser of the command line says against a call. Nothing is run. */
async function complaint(words: readonly string[]): Promise<string | undefined> {
  const said: string[] = [];
  const write = (text: string): boolean => said.push(text) > 0;
  const stream = { write, isTTY: false };
  const program = createProgram({ stdout: stream, stderr: stream, env: {} } as never, () => undefined);
  withoutActions(program);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return undefined;
  } catch (error) {
    const isShown = ['commander.helpDisplayed', 'commander.version'].includes((error as { code?: string }).code ?? '');
    return isShown ? undefined : (said[0] ?? String(error)).trim();
  }
}

function withoutActions(parser: Command): void {
  for (const command of parser.commands) {
    if (command.commands.length === 0) command.action(() => undefined);
    withoutActions(command);
  }
}

test('the parser of the command line takes every call of longhaul on the pages', async () => {
  const lines = fencesOnPages().flatMap(commandLines);
  expect(lines.length).toBeGreaterThan(40);
  const complaints = await Promise.all(lines.map(async ({ at, words }) => [at, await complaint(words)] as const));
  expect(complaints.filter(([, said]) => said !== undefined)).toEqual([]);
});

test.each([
  ['an unknown option', 'longhaul start clerk "Hello" --wiat', 'longhaul: unknown option "--wiat"'],
  ['an unknown command', '$ longhaul strat clerk', 'longhaul: unknown command "strat"'],
  ['a value that is invalid', 'longhaul raise clerk-1 --steps many', 'is not valid'],
])('%s is found', async (_, text, expected) => {
  const [line] = fencesIn('a.md', `\`\`\`sh\n${text}   # a comment\n\`\`\`\n`).flatMap(commandLines);
  expect(await complaint(line!.words)).toContain(expected);
});
