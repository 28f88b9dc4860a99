import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

const LOOK_EVERY_MS = 250;

/** How long a program may take to end by Ctrl-C. */
const ENDED_WITHIN_MS = 60_000;

/** The terminals of a person in one folder: some with a program that stays open, and one for short commands. */
export class TwoTerminals implements AsyncDisposable {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #open: ChildProcess[] = [];
  /** Every shell with programs that have not ended, also of the other terminals of the person. */
  readonly #shells: Set<ChildProcess>;
  /** What the last short command has printed. */
  printed = '';

  constructor(folder: string, env: NodeJS.ProcessEnv, shells = new Set<ChildProcess>()) {
    this.#folder = folder;
    this.#env = env;
    this.#shells = shells;
  }

  /** Another terminal of the same person, in another folder. */
  in(folder: string): TwoTerminals {
    return new TwoTerminals(folder, this.#env, this.#shells);
  }

  /** Runs the unchanged commands of a page. Throws if they fail, with their output. */
  async run(text: string): Promise<string> {
    const [code, printed] = await this.#outcome(text);
    if (code !== 0) throw new Error(`"${text.trim()}" ends with ${code}:\n${printed}`);
    this.printed = printed;
    return printed;
  }

  /** Runs commands repeatedly until they print a text. */
  async runUntil(text: string, shown: string | RegExp, seconds = 60): Promise<string> {
    const deadline = Date.now() + 1_000 * seconds;
    for (;;) {
      const printed = await this.run(text);
      if (typeof shown === 'string' ? printed.includes(shown) : shown.test(printed)) return printed;
      if (Date.now() > deadline) throw new Error(`"${text.trim()}" does not show ${String(shown)} within ${seconds} s:\n${printed}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Opens a terminal with a program that stays open, and waits until it prints a text. */
  async open(text: string, ready: string | RegExp, seconds = 120): Promise<void> {
    let printed = '';
    const child = this.#shell(text, (piece) => (printed += piece));
    this.#open.push(child);
    const deadline = Date.now() + 1_000 * seconds;
    while (typeof ready === 'string' ? !printed.includes(ready) : !ready.test(printed)) {
      if (hasEnded(child)) throw new Error(`"${text.trim()}" has ended:\n${printed}`);
      if (Date.now() > deadline) throw new Error(`"${text.trim()}" does not print ${String(ready)} within ${seconds} s:\n${printed}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Runs a command on a pseudo-terminal and types lines, each after a text that it shows. Returns all that it has shown. */
  async talk(command: string, lines: readonly { after: string; type: string }[], seconds = 120): Promise<string> {
    let printed = '';
    const args = ['--quiet', '--flush', '--return', '--command', command, '/dev/null'];
    const child = this.#program('script', args, (piece) => (printed += piece));
    const ended = once(child, 'close');
    const deadline = Date.now() + 1_000 * seconds;
    let seen = 0;
    for (const { after, type } of lines) {
      while (!stripVTControlCharacters(printed).slice(seen).includes(after)) {
        if (hasEnded(child)) throw new Error(`"${command}" has ended:\n${printed}`);
        if (Date.now() > deadline) throw new Error(`"${command}" does not show "${after}" within ${seconds} s:\n${printed}`);
        await sleep(LOOK_EVERY_MS);
      }
      seen = stripVTControlCharacters(printed).length;
      child.stdin?.write(`${type}\r`);
    }
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`"${command}" ends with ${code}:\n${printed}`);
    return stripVTControlCharacters(printed);
  }

  /** Ends the programs in the open terminals as a person does, the last one first. Throws if one keeps running. */
  async pressCtrlC(): Promise<void> {
    for (const child of this.#open.splice(0).toReversed()) {
      if (!this.#shells.has(child)) continue;
      // Not its exit: the programs may outlive their shell.
      const ended = once(child, 'close').then(() => true);
      signalGroup(child, 'SIGINT');
      if (await Promise.race([ended, sleep(ENDED_WITHIN_MS, false, { ref: false })])) continue;
      signalGroup(child, 'SIGKILL');
      throw new Error(`A program goes on ${ENDED_WITHIN_MS / 1_000} s after Ctrl-C`);
    }
  }

  /** Ends the programs as a person does, and then kills what is left in any terminal of the person. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.pressCtrlC();
    } finally {
      for (const child of this.#shells) signalGroup(child, 'SIGKILL');
      this.#shells.clear();
    }
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
    const child = this.#program('sh', ['-e'], print);
    child.stdin?.end(text);
    return child;
  }

  #program(name: string, args: readonly string[], print: (piece: string) => void): ChildProcess {
    const child = spawn(name, args, { cwd: this.#folder, env: this.#env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#shells.add(child);
    child.once('close', () => this.#shells.delete(child));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => print(piece.toString()));
    return child;
  }
}

/** True for a process that has ended, by itself or by a signal. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Signals a shell and the processes that it has started. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
