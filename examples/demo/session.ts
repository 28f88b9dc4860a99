// The parts of every demo: a Temporal server, a worker and a client.
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { connect, LonghaulClient } from 'longhaul/client';
import { createWorker, type CreateWorkerOptions } from 'longhaul/worker';
import { processTerminal, untilInterrupted } from '../../src/cli/terminal.ts';
import { Output } from '../../src/cli/output.ts';
import { findUi, runLink } from '../../src/cli/command.ts';
import { installQuietRuntime } from '../../src/cli/serve/serve-agents.ts';
import { type DevServer, startDevServer } from '../../src/dev-server/dev-server.ts';

const SEARCH_ATTRIBUTES = {
  LonghaulAgent: 'Keyword',
  LonghaulStatus: 'Keyword',
  LonghaulWaitingFor: 'KeywordList',
  LonghaulTag: 'KeywordList',
  LonghaulSession: 'Keyword',
} as const;
/** The time that calls in flight have to finish once a demo ends. */
const GRACE_MS = 2_000;
/** How long to wait for the worker if its server is gone. */
const DRAIN_MS = 5_000;

/** The options of the worker of a demo. */
export type DemoWorker = Pick<CreateWorkerOptions, 'agents' | 'providers' | 'programs' | 'anchors' | 'tools' | 'memory' | 'streams'>;

/** The parts of a demo that it has started so far. */
export class DemoSession {
  readonly terminal = processTerminal();
  readonly output = new Output(this.terminal, false);
  readonly #taskQueue: string;
  #server: DevServer | undefined;
  #client: LonghaulClient | undefined;
  #worker: { failed: Promise<never>; drain: () => Promise<void> } | undefined;

  constructor(taskQueue: string) {
    this.#taskQueue = taskQueue;
  }

  /** Finds or starts a server, and starts a worker and a client. */
  async start(options: DemoWorker): Promise<LonghaulClient> {
    const { output, terminal } = this;
    const { signal, env } = terminal;
    const say = (line: string): void => output.print(output.look('dim', line));
    const server = (this.#server = await startDevServer({ say, env, signal, ui: true, searchAttributes: SEARCH_ATTRIBUTES }));
    output.print(`The Temporal server is at ${server.address}; starting a worker`);
    this.#worker = await untilInterrupted(signal, this.#startWorker(options, server));
    const client = (this.#client = await untilInterrupted(signal, this.#connect(server, options)));
    signal.throwIfAborted();
    return client;
  }

  /** The address and the namespace of the server. */
  get place(): { address?: string; namespace?: string } {
    const server = this.#server;
    return server === undefined ? {} : { address: server.address, namespace: server.namespace };
  }

  /** Never resolves. Rejects if the worker ends by itself. */
  get failed(): Promise<never> {
    return this.#worker?.failed ?? new Promise<never>(() => undefined);
  }

  /** Returns the address of a run in the Temporal UI, if there is one. */
  async link(runId: string): Promise<string | undefined> {
    const server = this.#server;
    const ui = server && (server.uiUrl ?? (await findUi(server, this.terminal.env)));
    return ui === undefined ? undefined : runLink(ui, server?.namespace ?? '', runId);
  }

  /** Keeps the server and its UI until Ctrl-C. Rejects with an `Interruption` then. */
  async stayUp(): Promise<void> {
    this.output.print('\nThe server and its UI stay up. Ctrl-C ends them.');
    await untilInterrupted(this.terminal.signal, this.failed);
  }

  /** Ends the worker and the client, then what the demo has besides them, and the server last, so that the worker can report. */
  async end(besides?: () => Promise<void>): Promise<void> {
    await quietly(this.#worker && untilInterrupted(AbortSignal.timeout(DRAIN_MS), this.#worker.drain()));
    await quietly(this.#client?.close());
    await quietly(besides?.());
    await quietly(this.#server?.stop());
  }

  async #startWorker(options: DemoWorker, server: DevServer): Promise<{ failed: Promise<never>; drain: () => Promise<void> }> {
    await installQuietRuntime(this.output);
    const place: Pick<CreateWorkerOptions, 'connection' | 'namespace'> = startedHere(server)
      ? { connection: await NativeConnection.connect({ address: server.address }), namespace: server.namespace }
      : {};
    const worker = await createWorker({ ...options, ...place, taskQueue: this.#taskQueue, shutdownGrace: GRACE_MS });
    const running = worker.run();
    const failed = new Promise<never>((_, reject) => void running.catch(reject));
    failed.catch(() => undefined);
    const drain = async (): Promise<void> => {
      worker.shutdown();
      await running.catch(() => undefined);
      await place.connection?.close();
    };
    return { failed, drain };
  }

  async #connect(server: DevServer, { streams }: DemoWorker): Promise<LonghaulClient> {
    const options = { taskQueue: this.#taskQueue, ...(streams === undefined ? {} : { streams }) };
    if (!startedHere(server)) return connect(options);
    const connection = await Connection.connect({ address: server.address });
    return new LonghaulClient(new Client({ connection, namespace: server.namespace }), options);
  }
}

/** Returns true if the demo started the server: TLS and keys of the environment and of the Temporal CLI's profile are then ignored. */
function startedHere(server: DevServer): boolean {
  return server.cliPath !== undefined;
}

/** Reads the flags of a demo; undefined, with the usage on stderr, if the command line has anything else. */
export function demoFlags(command: string): { exit: boolean } | undefined {
  try {
    return parseArgs({ options: { exit: { type: 'boolean', default: false } } }).values;
  } catch {
    process.stderr.write(
      `Usage: npm run ${command} [-- --exit]\n  --exit   ends after the run, instead of staying up for the Temporal UI\n`,
    );
    return undefined;
  }
}

/** Ends a resource. If that fails, the resource ends with the process: the others must still be ended. */
export async function quietly(ending: Promise<void> | undefined): Promise<void> {
  try {
    await ending;
  } catch {
    // The reason for ending has been reported; this error would only hide it.
  }
}
