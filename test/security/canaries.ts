import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonExecutor } from '../../activities/executors/python/python-executor.ts';
import { quickjsExecutor } from '../../activities/executors/quickjs/quickjs-executor.ts';
import type { ExecutionResult, Executor } from '../../src/core/domain/execution.ts';
import { CAN_ISOLATE } from './can-isolate.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const VARIABLE = 'LONGHAUL_CANARY';
const MOMENT = { now: 0, seed: 1 };

/** Objects of the host that code must not change. */
const WATCHED: readonly [string, object][] = [
  ['Object.prototype', Object.prototype],
  ['Array.prototype', Array.prototype],
  ['Function.prototype', Function.prototype],
  ['String.prototype', String.prototype],
  ['Promise.prototype', Promise.prototype],
  ['JSON', JSON],
  ['globalThis', globalThis],
];

/** Things that code would read, reach or change if it got out: a variable, a file, a listener, the host's objects and another executor. */
export class Canaries {
  private readonly secret = `canary-${crypto.randomUUID()}`;
  private readonly keys = WATCHED.map(([, watched]) => Reflect.ownKeys(watched).map(String).join());
  private readonly neighbour: Executor = quickjsExecutor({ limits: { timeoutSeconds: 20, maxMemoryMb: 32 } });
  private readonly neighbourInPython = CAN_ISOLATE ? pythonExecutor({ limits: { timeoutSeconds: 20, maxMemoryMb: 32 } }) : undefined;
  private turns = 0;
  private connections = 0;
  private folder = '';
  private listener: Server | undefined;

  static async open(): Promise<Canaries> {
    const canaries = new Canaries();
    process.env[VARIABLE] = canaries.secret;
    canaries.folder = await mkdtemp(join(tmpdir(), 'longhaul-canary-'));
    await writeFile(canaries.file, canaries.secret);
    canaries.listener = createServer((socket) => {
      canaries.connections += 1;
      socket.destroy();
    });
    await new Promise<void>((listening) => canaries.listener?.listen(0, '127.0.0.1', listening));
    await canaries.neighbour.run("let turns = 0; const kept = 'mine'", MOMENT);
    await canaries.neighbourInPython?.run("turns, kept = 0, 'mine'", MOMENT);
    return canaries;
  }

  async close(): Promise<void> {
    delete process.env[VARIABLE];
    await this.neighbour.close();
    await this.neighbourInPython?.close();
    await new Promise((closed) => this.listener?.close(closed));
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The places of the canaries, for code that looks for them. */
  get bait(): { variable: string; file: string; port: number } {
    const address = this.listener?.address();
    return { variable: VARIABLE, file: this.file, port: typeof address === 'object' ? (address?.port ?? 0) : 0 };
  }

  /** Explains which canaries are dead after an attempt with these results. */
  async problems(results: readonly ExecutionResult[]): Promise<string[]> {
    const text = JSON.stringify(results);
    const changed = WATCHED.filter(([, watched], index) => Reflect.ownKeys(watched).map(String).join() !== this.keys[index]);
    this.turns += 1;
    const inPython = await this.neighbourInPython?.run('turns += 1\nprint(turns, kept)', MOMENT);
    const { output } = await this.neighbour.run('turns += 1; print(turns, kept, typeof polluted, typeof found)', MOMENT);
    return [
      ...(text.includes(this.secret) ? ['a secret came out'] : []),
      ...(text.includes(ROOT) || text.includes('node:internal') ? ['the code saw paths of the host'] : []),
      ...changed.map(([name]) => `${name} of the host was changed`),
      ...(process.env[VARIABLE] === this.secret ? [] : ["a variable of the host's environment was changed"]),
      ...((await readFile(this.file, 'utf8')) === this.secret ? [] : ['a file was changed']),
      ...(this.connections === 0 ? [] : ['the listener was connected to']),
      ...(inPython === undefined || inPython.output === `${this.turns} mine`
        ? []
        : [`the neighbour in Python printed "${inPython.output}"`]),
      ...(output === `${this.turns} mine undefined undefined` ? [] : [`the neighbour printed "${output}"`]),
    ];
  }

  private get file(): string {
    return join(this.folder, 'secret');
  }
}
