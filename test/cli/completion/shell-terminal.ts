import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { fileURLToPath } from 'node:url';

/** The program of the command line. */
export const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

/** The shells, as they start without the files of the user, and what makes them complete. */
export const SHELLS = {
  bash: { command: 'bash --noprofile --norc -i', load: 'eval "$(longhaul completion bash)"' },
  zsh: { command: 'zsh -f -i', load: 'autoload -U compinit; compinit -u -D; eval "$(longhaul completion zsh)"' },
  fish: { command: 'fish --no-config -i', load: 'longhaul completion fish | source' },
} as const;

export type ShellName = keyof typeof SHELLS;

/** The reason why a shell cannot be tried here; undefined if it can. */
export function missingShell(name: ShellName): string | undefined {
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  if (!stdout?.includes('util-linux')) return 'it needs "script" of util-linux';
  return spawnSync(name, ['--version']).status === 0 ? undefined : `${name} is not installed`;
}

/** An address where no server listens. */
const NOWHERE = '127.0.0.1:9';

/** A shell on a pseudo-terminal, with this program as `longhaul`, and with a server if there is an address. */
export class ShellTerminal implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'longhaul-shell-'));
  readonly #child: ChildProcess;
  #output = '';
  #seen = 0;

  constructor(name: ShellName, address = NOWHERE) {
    const program = join(this.#folder, 'longhaul');
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
    writeFileSync(join(this.#folder, 'agents-of-mine.ts'), '');
    this.#child = spawn('script', ['--quiet', '--flush', '--return', '--command', SHELLS[name].command, '/dev/null'], {
      cwd: this.#folder,
      env: {
        PATH: `${this.#folder}:${process.env['PATH']}`,
        HOME: this.#folder,
        TERM: 'xterm',
        PS1: '> ',
        LC_ALL: 'C.UTF-8',
        TEMPORAL_ADDRESS: address,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      const text = chunk.toString();
      this.#output += text;
      // fish asks its terminal who it is, and waits for the answer.
      if (text.includes('\u001b[c') || text.includes('\u001b[0c')) this.type('\u001b[?62;c');
    });
  }

  get screen(): string {
    return stripVTControlCharacters(this.#output).replaceAll('\r', '');
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Waits until the terminal shows a text after all that was waited for before. */
  async shows(text: string | RegExp, seconds = 30): Promise<void> {
    const deadline = Date.now() + seconds * 1000;
    for (;;) {
      const rest = this.screen.slice(this.#seen);
      const found = typeof text === 'string' ? rest.indexOf(text) : rest.search(text);
      if (found >= 0) {
        this.#seen += found + 1;
        return;
      }
      if (Date.now() > deadline || this.#child.exitCode !== null)
        throw new Error(`Waited for "${String(text)}"; the terminal shows:\n${this.screen}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.type('\u0003\nexit\n');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 2_000);
    if (this.#child.exitCode === null) await once(this.#child, 'close');
    clearTimeout(timer);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
