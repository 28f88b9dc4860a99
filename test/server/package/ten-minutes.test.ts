import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { until } from '../testbed/testbed.ts';
import { barePackage } from './consumer-project.ts';

/** A fence of the page, with the marks in front of it. */
interface Fence {
  marks: string[];
  language: string;
  text: string;
}

function fencesOf(page: string): Fence[] {
  return [...page.matchAll(/((?:<!-- [^>]+ -->\n)*)```(\w+)\n([^]*?)^```$/gm)].map(([, marks = '', language = '', text = '']) => ({
    marks: [...marks.matchAll(/<!-- (.+) -->/g)].map(([, mark = '']) => mark),
    language,
    text,
  }));
}

/** The lines that a fence says are printed. */
function linesOf({ language, text }: Fence): string[] {
  return language === 'text' ? text.trim().split('\n') : [];
}

/** The reader of the page: two terminals in one folder. */
class Reader {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  #open: ChildProcess | undefined;
  /** What the last command in the second terminal has printed. */
  printed = '';

  constructor(folder: string) {
    this.#folder = folder;
    const { TEMPORAL_ADDRESS: _, NODE_TEST_CONTEXT: __, OPENAI_API_KEY: ___, ...env } = process.env;
    const path = `${dirname(process.execPath)}:${env['PATH'] ?? ''}`;
    // The server of the tests in place of one at the usual port. The first terminal prints its HTTP port, which nothing here uses.
    this.#env = { ...env, PATH: path, TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: inject('temporalNamespace') };
  }

  async read({ marks, language, text }: Fence): Promise<void> {
    if (marks.includes('press Ctrl-C')) await this.pressCtrlC();
    const [, file] = marks.map((mark) => /^file: (.+)$/.exec(mark)).find((match) => match !== null) ?? [];
    if (file !== undefined) return writeFile(join(this.#folder, file), text);
    // What it shows as printed, the test compares.
    if (language === 'text') return;
    if (language !== 'sh') throw new Error(`Nothing is to be done with a fence of "${language}": ${text}`);
    if (marks.includes('stays open')) return this.#openTerminal(text);
    const [, shown] = marks.map((mark) => /^again until it shows: (.+)$/.exec(mark)).find((match) => match !== null) ?? [];
    if (shown === undefined) return this.#run(text);
    return until(async () => this.#run(text).then(() => this.printed.includes(shown)), `"${text.trim()}" to show "${shown}"`, 60);
  }

  /** Ends the program in the first terminal as its user does. */
  async pressCtrlC(): Promise<void> {
    const open = this.#open;
    if (open?.pid === undefined || open.exitCode !== null) return;
    const ended = once(open, 'exit');
    process.kill(-open.pid, 'SIGINT');
    await ended;
    this.#open = undefined;
  }

  async #openTerminal(text: string): Promise<void> {
    let printed = '';
    const child = this.#shell(text, (piece) => (printed += piece));
    this.#open = child;
    await until(
      () => {
        if (child.exitCode !== null) throw new Error(`"${text.trim()}" has ended:\n${printed}`);
        return printed.includes('Ctrl-C ends it');
      },
      `"${text.trim()}" to be ready`,
      120,
    );
  }

  async #run(text: string): Promise<void> {
    let printed = '';
    const [code] = (await once(
      this.#shell(text, (piece) => (printed += piece)),
      'close',
    )) as [number];
    if (code !== 0) throw new Error(`"${text.trim()}" ends with ${code}:\n${printed}`);
    this.printed = printed;
  }

  #shell(text: string, print: (piece: string) => void): ChildProcess {
    const child = spawn('sh', ['-e'], { cwd: this.#folder, env: this.#env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(text);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => print(piece.toString()));
    return child;
  }
}

test('whoever follows the page of ten minutes, fence by fence, in a fresh folder has a tested agent that survives its worker', async () => {
  const page = readFileSync(new URL('../../../docs/ten-minutes.md', import.meta.url), 'utf8');
  const [install, ...fences] = fencesOf(page);
  expect(fences.length).toBeGreaterThan(12);
  // What the first fence installs, a test of installed packages checks: here the dependencies are those of this project.
  expect(install?.text).toContain('npm install');
  const project = await barePackage();
  const reader = new Reader(project.path);
  try {
    for (const fence of fences) {
      await reader.read(fence);
      const missing = linesOf(fence).filter((line) => !reader.printed.includes(line));
      expect(missing).toEqual([]);
    }
  } finally {
    await reader.pressCtrlC();
    await project.remove();
  }
}, 300_000);
