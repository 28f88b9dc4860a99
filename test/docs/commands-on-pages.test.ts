import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { run as beginProject } from '../../create-longhaul/src/run.ts';
import { projectFiles } from '../../create-longhaul/src/templates.ts';
import { createProgram } from '../../src/cli/run-cli.ts';
import { type Fence, fencesIn, fencesOnPages } from './fences.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The names of command fences: typed commands, and commands with their output. */
const SHELLS = ['sh', 'bash', 'console'];

/** A command line of a page, in words. */
interface Line {
  at: string;
  words: string[];
}

/**
 * A call of `longhaul`, by its name, by `npx` or by a path: at the beginning of a line, of a command of it, or after text with a colon. The
 * first group is there if it is the command of `$(…)`.
 */
const CALL = /(?:^|(\$\()|[;&|]|: |=)\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npx )?(?:[\w./]*\/)?longhaul (?=[a-z]|--?[a-z])/g;

/** A call as a list of words, in a file for containers. */
const LISTED = /\["(?:[\w./]*\/)?longhaul", (.+)\]/;

/** A line of a fence, with those that it continues on. */
interface PageLine {
  at: string;
  text: string;
}

function linesOf({ page, line, text }: Fence): PageLine[] {
  const joined = text.replaceAll('\\\n', '  ');
  return joined.split('\n').map((one, index) => ({ at: `${page}:${line + index}`, text: one }));
}

/** Returns the calls of `longhaul` on a line, each up to the end of its command. */
function commandsIn({ at, text }: PageLine): Line[] {
  const [, listed] = LISTED.exec(text) ?? [];
  if (listed !== undefined) return [{ at, words: JSON.parse(`[${listed}]`) as string[] }];
  return [...text.matchAll(CALL)].map(({ 0: { length }, 1: inner, index: from }) => {
    const rest = text.slice(from + length);
    return { at, words: wordsOf(inner === undefined ? rest : rest.slice(0, rest.indexOf(')'))) };
  });
}

function commandLines(fence: Fence): Line[] {
  return linesOf(fence).flatMap(commandsIn);
}

/** True if a line of a shell has the name of the program otherwise than in a comment, and than as a name of a package or of a task queue. */
function namesProgram({ text }: PageLine): boolean {
  return /(?<![\w./@-])longhaul /.test(text.replace(/(?<!\S)#.*$/, '').replaceAll(/(?:create|--task-queue) longhaul\b/g, ''));
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
  const fences = fencesOnPages();
  const lines = fences.flatMap(commandLines);
  // None is overlooked.
  const named = fences.filter(({ language }) => SHELLS.includes(language)).flatMap(linesOf);
  expect(named.filter((line) => namesProgram(line) && commandsIn(line).length === 0)).toEqual([]);
  expect(lines.length).toBeGreaterThan(40);
  const complaints = await Promise.all(lines.map(async ({ at, words }) => [at, await complaint(words)] as const));
  expect(complaints.filter(([, said]) => said !== undefined)).toEqual([]);
});

test('a shell accepts each shell fence unchanged', async () => {
  const fences = fencesOnPages().filter(({ language }) => language === 'sh');
  expect(fences.length).toBeGreaterThan(30);
  const wrong = await Promise.all(
    fences.map(async ({ page, line, text }) => {
      const shell = spawn('bash', ['-n'], { stdio: ['pipe', 'ignore', 'pipe'] });
      shell.stdin.end(text);
      const [said] = await Promise.all([textOf(shell.stderr), once(shell, 'close')]);
      // A terminal's output is not a shell fence, but a console fence.
      return said !== '' || /^\$ /m.test(text) ? [`${page}:${line}: ${said}`] : [];
    }),
  );
  expect(wrong.flat()).toEqual([]);
});

test('each script that a fence runs is one of the project, or of the projects that it begins', () => {
  const scriptsOf = (text: string): string[] => Object.keys((JSON.parse(text) as { scripts: Record<string, string> }).scripts);
  const own = scriptsOf(readFileSync(`${root}/package.json`, 'utf8'));
  const begun = scriptsOf(
    projectFiles({ name: 'a', template: 'basic', provider: 'scripted', packageManager: 'npm' })['package.json'] ?? '',
  );
  const run = fencesOnPages()
    .filter(({ language }) => SHELLS.includes(language))
    .flatMap(({ page, text }) =>
      [...text.matchAll(/\bnpm (?:run )?((?<=run )[\w:-]+|test)\b/g)].map(([, script = '']) => ({ page, script })),
    );
  expect(run.length).toBeGreaterThan(10);
  expect(run.filter(({ page, script }) => !(page === 'docs/templates.md' ? begun : own).includes(script))).toEqual([]);
});

test('create-longhaul takes each of its command lines on the pages, and begins that project', async () => {
  const calls = fencesOnPages()
    .filter(({ language }) => SHELLS.includes(language))
    .flatMap(({ page, text }) =>
      [...text.matchAll(/^\s*(p?npm create longhaul(?:@latest)?|node create-longhaul\/src\/main\.ts) (.+)$/gm)].map(
        ([, by = '', rest = '']) => ({
          page,
          // Npm takes the bare dashes for itself, and needs them.
          words: by.startsWith('npm ') ? wordsOf(rest.replace(/ -- /, ' ')) : wordsOf(rest),
          isPassedOn: !by.startsWith('npm ') || / -- /.test(rest) || !rest.includes(' --'),
        }),
      ),
    );
  expect(calls.length).toBeGreaterThan(4);
  expect(calls.filter(({ isPassedOn }) => !isPassedOn)).toEqual([]);
  for (const { page, words } of calls) {
    const folder = await mkdtemp(join(tmpdir(), 'longhaul-pages-'));
    try {
      const said: string[] = [];
      const print = (line: string): number => said.push(line);
      const [target = '', ...options] = words;
      const around = { env: {}, nodeVersion: '24.21.0', signal: new AbortController().signal, ask: undefined, out: print, err: print };
      const code = await beginProject([join(folder, basename(target)), ...options, '--no-install', '--no-git', '--yes'], around);
      expect({ page, words, code, said: code === 0 ? [] : said }).toEqual({ page, words, code: 0, said: [] });
    } finally {
      await rm(folder, { recursive: true });
    }
  }
});

test.each([
  ['an unknown option', 'longhaul start clerk "Hello" --wiat', 'longhaul: unknown option "--wiat"'],
  ['an unknown command', '$ longhaul strat clerk', 'longhaul: unknown command "strat"'],
  ['a value that is invalid', 'longhaul raise clerk-1 --steps many', 'is not valid'],
  ['an unknown option of a command in another', 'eval "$(longhaul completion bash --al)"', 'longhaul: unknown option "--al"'],
  ['an unknown option after another command', 'cd shop && npx longhaul dev --agent ./a.ts', 'longhaul: unknown option "--agent"'],
  [
    'an unknown option of a service',
    'ExecStart=/srv/node_modules/.bin/longhaul worker --agents a.js --gents',
    'longhaul: unknown option "--gents"',
  ],
  [
    'an unknown option in an image',
    'CMD ["node_modules/.bin/longhaul", "worker", "--agents", "a.js", "--gents"]',
    'longhaul: unknown option "--gents"',
  ],
])('%s is found', async (_, text, expected) => {
  const [line] = fencesIn('a.md', `\`\`\`sh\n${text}   # a comment\n\`\`\`\n`).flatMap(commandLines);
  expect(await complaint(line!.words)).toContain(expected);
});
