import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { TwoTerminals } from '../../first-hours/two-terminals.ts';
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

/** The reader of the page. */
class Reader {
  readonly #folder: string;
  readonly #terminals: TwoTerminals;

  constructor(folder: string) {
    this.#folder = folder;
    const { TEMPORAL_ADDRESS: _, NODE_TEST_CONTEXT: __, OPENAI_API_KEY: ___, ...env } = process.env;
    const path = `${dirname(process.execPath)}:${env['PATH'] ?? ''}`;
    // The server of the tests in place of one at the usual port. The first terminal prints its HTTP port, which nothing here uses.
    this.#terminals = new TwoTerminals(folder, {
      ...env,
      PATH: path,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: inject('temporalNamespace'),
    });
  }

  /** What the last command in the second terminal has printed. */
  get printed(): string {
    return this.#terminals.printed;
  }

  async read({ marks, language, text }: Fence): Promise<void> {
    if (marks.includes('press Ctrl-C')) await this.pressCtrlC();
    const [, file] = marks.map((mark) => /^file: (.+)$/.exec(mark)).find((match) => match !== null) ?? [];
    if (file !== undefined) return writeFile(join(this.#folder, file), text);
    // What it shows as printed, the test compares.
    if (language === 'text') return;
    if (language !== 'sh') throw new Error(`Nothing is to be done with a fence of "${language}": ${text}`);
    if (marks.includes('stays open')) return this.#terminals.open(text, 'Ctrl-C ends it');
    const [, shown] = marks.map((mark) => /^again until it shows: (.+)$/.exec(mark)).find((match) => match !== null) ?? [];
    await (shown === undefined ? this.#terminals.run(text) : this.#terminals.runUntil(text, shown));
  }

  async pressCtrlC(): Promise<void> {
    await this.#terminals.pressCtrlC();
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
