import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TwoTerminals } from './two-terminals.ts';

/** A fence of the page, with the marks in front of it. */
export interface Fence {
  marks: string[];
  language: string;
  text: string;
}

/** Returns the fences of `docs/ten-minutes.md`, in their order. */
export function tutorialFences(): Fence[] {
  const page = readFileSync(new URL('../../docs/ten-minutes.md', import.meta.url), 'utf8');
  return [...page.matchAll(/((?:<!-- [^>]+ -->\n)*)```(\w+)\n([^]*?)^```$/gm)].map(([, marks = '', language = '', text = '']) => ({
    marks: [...marks.matchAll(/<!-- (.+) -->/g)].map(([, mark = '']) => mark),
    language,
    text,
  }));
}

/** The reader of the page, who does what its fences say in a folder. */
export class Reader implements AsyncDisposable {
  readonly #folder: string;
  readonly #terminals: TwoTerminals;

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#terminals = new TwoTerminals(folder, env);
  }

  /** Does what a fence says. Returns the lines that it shows as printed, and that the last command has not printed. */
  async read(fence: Fence): Promise<string[]> {
    await this.#do(fence);
    return fence.language === 'text'
      ? fence.text
          .trim()
          .split('\n')
          .filter((line) => !this.#terminals.printed.includes(line))
      : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#terminals[Symbol.asyncDispose]();
  }

  async #do({ marks, language, text }: Fence): Promise<void> {
    if (marks.includes('press Ctrl-C')) await this.#terminals.pressCtrlC();
    const [, file] = marks.map((mark) => /^file: (.+)$/.exec(mark)).find((match) => match !== null) ?? [];
    if (file !== undefined) return writeFile(join(this.#folder, file), text);
    if (language === 'text') return;
    if (language !== 'sh') throw new Error(`Nothing is to be done with a fence of "${language}": ${text}`);
    if (marks.includes('stays open')) return this.#terminals.open(text, 'Ctrl-C ends it');
    const [, shown] = marks.map((mark) => /^again until it shows: (.+)$/.exec(mark)).find((match) => match !== null) ?? [];
    await (shown === undefined ? this.#terminals.run(text) : this.#terminals.runUntil(text, shown));
  }
}
