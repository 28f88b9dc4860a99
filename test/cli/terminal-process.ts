import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The reason why there is no pseudo-terminal here; undefined if there is one. `script` of util-linux makes it. */
export function missingTerminal(): string | undefined {
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  return stdout?.includes('util-linux') ? undefined : 'it needs "script" of util-linux for a pseudo-terminal';
}

/** The command line in a separate process, on a pseudo-terminal. */
export class TerminalProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  #output = '';
  /** The part of the output that was waited for. */
  #seen = 0;

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    const command = [process.execPath, MAIN, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    this.#child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#ended = once(this.#child, 'close');
  }

  /** Everything that the terminal has shown so far, without control sequences. */
  get screen(): string {
    return stripVTControlCharacters(this.#output).replaceAll('\r', '');
  }

  /** Types text, or keys as their control characters. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Waits until the terminal shows a text after all that was waited for before. */
  async shows(text: string): Promise<void> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const at = this.screen.indexOf(text, this.#seen);
      if (at >= 0) {
        this.#seen = at + text.length;
        return;
      }
      if (Date.now() > deadline || this.#child.exitCode !== null)
        throw new Error(`Waited for "${text}"; the terminal shows:\n${this.screen}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits for the end of the process, and returns its exit code. */
  async exitCode(): Promise<number> {
    const [code] = await this.#ended;
    return Number(code);
  }

  /** Ends the process if it is still running. */
  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}
