import { awaitReady } from '../../src/dev-server/dev-server.ts';
import { findServer } from '../../src/dev-server/find-server.ts';
import { type GuardedProcess, startProcess } from '../../src/dev-server/guarded-process.ts';
import { cliEnvironment, SERVER_IP, startFlags, freePorts } from '../../src/dev-server/start-flags.ts';
import { SEARCH_ATTRIBUTE_TYPES } from '../../src/core/protocol.ts';

const NAMESPACE = 'default';
const READY_MS = 60_000;
const STOP_MS = 3_000;

/** The Temporal CLI on this machine. Throws an error with the places that were searched. */
export async function findCli(say: (line: string) => void): Promise<string> {
  // A crash test does not use a server that is already running.
  const found = await findServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  if (found.type === 'running') throw new Error('A server was found where a program was asked for');
  return found.cliPath;
}

/** A Temporal server. If it is killed, it is started again at once, on the same database file and port. */
export class CrashServer {
  readonly namespace = NAMESPACE;
  /** The number of times that it was killed. */
  kills = 0;
  /** The reason why there is no longer a server: it ended without a kill, or did not start again. */
  failure: Error | undefined;
  readonly #cliPath: string;
  readonly #dbFile: string | undefined;
  readonly #port: number;
  #process: GuardedProcess | undefined;
  #ready: Promise<void> = Promise.resolve();
  #isStopping = false;

  private constructor(cliPath: string, dbFile: string | undefined, port: number) {
    this.#cliPath = cliPath;
    this.#dbFile = dbFile;
    this.#port = port;
  }

  /** Starts a server on a separate file, or in memory: then killing it loses everything. */
  static async start(cliPath: string, dbFile?: string): Promise<CrashServer> {
    const server = new CrashServer(cliPath, dbFile, await unusedPort());
    try {
      await server.#launch();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get address(): string {
    return `${SERVER_IP}:${this.#port}`;
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error('The server has no process');
    return pid;
  }

  /** Resolves when the server answers, however often it was killed meanwhile. */
  async whenReady(): Promise<void> {
    let last;
    do {
      last = this.#ready;
      await last;
    } while (last !== this.#ready);
  }

  /** Kills the server, which is then started again. */
  kill(): void {
    process.kill(this.pid, 'SIGKILL');
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#process?.stop(STOP_MS);
  }

  #launch(): Promise<void> {
    const args = startFlags({ port: this.#port, dbFile: this.#dbFile, searchAttributes: SEARCH_ATTRIBUTE_TYPES });
    const started = startProcess({ file: this.#cliPath, args, env: cliEnvironment(process.env) });
    this.#process = started;
    this.#ready = awaitReady(started, { address: this.address, namespace: NAMESPACE, timeoutMs: READY_MS }).catch((error: unknown) => {
      // The server was killed again before it was ready: the next start counts.
      if (this.#process === started && !started.hasEnded()) throw error;
    });
    this.#ready.catch((error: unknown) => (this.failure = new Error('The server did not come up again', { cause: error })));
    void this.#watch(started);
    return this.#ready;
  }

  async #watch(started: GuardedProcess): Promise<void> {
    const { code, signal } = await started.ended;
    if (this.#isStopping) return;
    if (signal !== 'SIGKILL') {
      this.failure = new Error(`The server has ended by itself (${signal ?? `exit code ${code}`}): ${started.output()}`);
      return;
    }
    this.kills += 1;
    void this.#launch();
  }
}

/** Below the ports that the system assigns, so that no other process gets the port between death and restart. */
const FIRST_PORT = 17_100;
const LAST_PORT = 18_900;

let nextPort = FIRST_PORT + (process.pid % 100) * 10;

/** Returns a port for a process that is killed and started again. */
export async function unusedPort(): Promise<number> {
  while (nextPort < LAST_PORT) {
    const port = nextPort++;
    try {
      await freePorts([port]);
      return port;
    } catch {
      // Another process has the port.
    }
  }
  throw new Error(`All ports up to ${LAST_PORT} are taken`);
}
