import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 250;

/** The terminals of a person in one folder: some in which a program stays open, and one for short commands. */
export class TwoTerminals implements AsyncDisposable {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #open: ChildProcess[] = [];
  /** What the last short command has printed. */
  printed = '';

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    this.#env = env;
  }

  /** Another terminal of the same person, in another folder. */
  in(folder: string): TwoTerminals {
    return new TwoTerminals(folder, this.#env);
  }

  /** Runs commands as they stand on a page. Throws if they fail, with what they have printed. */
  async run(text: string): Promise<string> {
    const [code, printed] = await this.#outcome(text);
    if (code !== 0) throw new Error(`"${text.trim()}" ends with ${code}:\n${printed}`);
    this.printed = printed;
    return printed;
  }

  /** Runs commands again and again until they print a text. */
  async runUntil(text: string, shown: string | RegExp, seconds = 60): Promise<string> {
    const deadline = Date.now() + 1_000 * seconds;
    for (;;) {
      const printed = await this.run(text);
      if (typeof shown === 'string' ? printed.includes(shown) : shown.test(printed)) return printed;
      if (Date.now() > deadline) throw new Error(`"${text.trim()}" does not show ${String(shown)} within ${seconds} s:\n${printed}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Opens a terminal in which a program stays, and waits until it prints a text. */
  async open(text: string, ready: string | RegExp, seconds = 120): Promise<void> {
    let printed = '';
    const child = this.#shell(text, (piece) => (printed += piece));
    this.#open.push(child);
    const deadline = Date.now() + 1_000 * seconds;
    while (typeof ready === 'string' ? !printed.includes(ready) : !ready.test(printed)) {
      if (child.exitCode !== null) throw new Error(`"${text.trim()}" has ended:\n${printed}`);
      if (Date.now() > deadline) throw new Error(`"${text.trim()}" does not print ${String(ready)} within ${seconds} s:\n${printed}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Ends the programs in the open terminals as a person does, the last one first. */
  async pressCtrlC(): Promise<void> {
    for (const child of this.#open.splice(0).toReversed()) {
      if (child.pid === undefined || child.exitCode !== null) continue;
      const ended = once(child, 'exit');
      process.kill(-child.pid, 'SIGINT');
      await ended;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pressCtrlC();
  }

  async #outcome(text: string): Promise<[code: number | null, printed: string]> {
    let printed = '';
    const [code] = (await once(
      this.#shell(text, (piece) => (printed += piece)),
      'close',
    )) as [number | null];
    return [code, printed];
  }

  #shell(text: string, print: (piece: string) => void): ChildProcess {
    const child = spawn('sh', ['-e'], { cwd: this.#folder, env: this.#env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(text);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => print(piece.toString()));
    return child;
  }
}
