import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { cliEnvironment } from '../../../src/dev-server/start-flags.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cliPath = inject('temporalCliPath');

/** A command line of the Temporal CLI on a page: `workflow signal`, and the flags after it. */
interface PageCommand {
  at: string;
  command: string;
  flags: string[];
}

const GROUPS = ['batch', 'config', 'env', 'operator', 'schedule', 'server', 'task-queue', 'worker', 'workflow'];
const COMMAND = new RegExp(String.raw`(?<![\w./-])temporal ((?:${GROUPS.join('|')})(?: [a-z][a-z-]*)+)([^\n\`|]*)`, 'g');

function commandsOf(page: string): PageCommand[] {
  const text = readFileSync(`${root}/${page}`, 'utf8').replaceAll('\\\n', '  ');
  return [...text.matchAll(COMMAND)].map(({ 1: command = '', 2: rest = '' }) => ({
    at: `${page}: temporal ${command}`,
    command,
    flags: [...rest.matchAll(/ (--[a-z][a-z-]*)/g)].map(([, flag = '']) => flag),
  }));
}

test.skipIf(cliPath === undefined)(
  `the Temporal CLI knows each of its commands on the pages, with its flags${cliPath === undefined ? ' (skipped: the server was not started here)' : ''}`,
  async () => {
    const found = globSync(['README.md', 'docs/**/*.md'], { cwd: root }).flatMap(commandsOf);
    expect(found.length).toBeGreaterThan(10);
    const helps = new Map<string, Promise<string>>();
    const helpOf = (command: string): Promise<string> => {
      const known = helps.get(command);
      if (known !== undefined) return known;
      const help = promisify(execFile)(cliPath ?? '', [...command.split(' '), '--help'], { env: cliEnvironment(process.env) });
      const text = help.then(({ stdout }) => stdout);
      helps.set(command, text);
      return text;
    };
    const unknown: string[] = [];
    for (const { at, command, flags } of found) {
      const help = await helpOf(command);
      // For an unknown command, the CLI prints the help of its parent command.
      if (!new RegExp(`^ +temporal ${command} \\[flags\\]`, 'm').test(help)) unknown.push(at);
      else unknown.push(...flags.filter((flag) => !new RegExp(`${flag}\\b(?!-)`).test(help)).map((flag) => `${at} ${flag}`));
    }
    expect(unknown).toEqual([]);
  },
);
