import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CreateWorkerOptions, LonghaulWorker } from '../../../worker/index.ts';
import { errorMessage, UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { ModelClient } from '../../core/domain/model.ts';
import type { LogChoice } from '../../log/log-writer.ts';
import type { PrometheusMetrics } from '../../telemetry/prometheus.ts';
import { type ServerLocation, withClient } from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { AgentsModule } from '../input-files.ts';
import type { Output } from '../output.ts';
import { untilEnded } from '../terminal.ts';

/** The options of a worker that a command runs: its agents and programs, and the server and task queue that it polls. */
interface ServeOptions extends Pick<
  CreateWorkerOptions,
  'connection' | 'address' | 'namespace' | 'taskQueue' | 'codec' | 'versioning' | 'workflowsPath' | 'worker' | 'telemetry'
> {
  agentsModule: AgentsModule;
  graceMs: number;
  /** Called with the worker before it polls. */
  created?: (worker: LonghaulWorker) => void;
  /** Called when the worker polls. */
  ready: (taskQueue: string) => void | Promise<void>;
}

/**
 * Runs a worker until the terminal's signal, then drains it. Returns the exit code, which is an error if calls do not
 * end even when they are aborted. Rejects if the worker fails.
 */
export async function serveAgents({ terminal, output }: CommandIo, options: ServeOptions): Promise<number> {
  const { agentsModule, graceMs, created, ready, ...workerOptions } = options;
  const { signal } = terminal;
  const { createWorker } = await import('../../../worker/index.ts');
  if (signal.aborted) return endedEarly(output);
  if (await bundles(workerOptions)) sayBundling(output);
  const creating = createWorker({
    ...agentsModule,
    ...workerOptions,
    providers: agentsModule.providers ?? (await defaultProviders(output, terminal.env)),
    shutdownGrace: graceMs,
  });
  // Bundling takes seconds, and cannot be stopped.
  const worker = await Promise.race([creating, untilEnded(signal)]);
  if (worker === undefined) {
    void creating.then(discard).catch(() => undefined);
    return endedEarly(output);
  }
  created?.(worker);
  const running = worker.run();
  const drain = (): void => {
    output.note(`Draining: calls in flight may continue for ${graceMs / 1000} s. Ctrl-C again stops at once.`);
    worker.shutdown();
  };
  if (signal.aborted) drain();
  else signal.addEventListener('abort', drain, { once: true });
  try {
    await Promise.all([running, signal.aborted ? undefined : ready(worker.taskQueue)]);
    output.note('Drained.');
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (!signal.aborted) throw error;
    output.note(`Calls in flight have not ended in time (${errorMessage(error)}): another worker will try them again.`);
    return EXIT_CODES.unexpected.code;
  } finally {
    signal.removeEventListener('abort', drain);
  }
}

/** Reports an end by a signal that came while the worker was created. */
function endedEarly(output: Pick<Output, 'note'>): number {
  output.note('Ended before the worker took a task.');
  return EXIT_CODES.ok.code;
}

/** Ends a worker that has been created too late: it can only be discarded by being run. */
async function discard(worker: LonghaulWorker): Promise<void> {
  worker.shutdown();
  await worker.run();
}

/** True if a worker with these options bundles its workflows when it starts. */
async function bundles({
  worker = {},
  workflowsPath,
  codec,
}: Omit<ServeOptions, 'agentsModule' | 'graceMs' | 'created' | 'ready'>): Promise<boolean> {
  if (worker.workflowBundle !== undefined) return false;
  const { packagedBundle } = await import('../../../worker/packaged-bundle.ts');
  return packagedBundle({ ...worker, ...defined({ workflowsPath, codec }) }) === undefined;
}

/** Notes that a worker bundles its workflows before it polls: this takes most of the start, without other output. */
export function sayBundling(output: Pick<Output, 'note' | 'look'>): void {
  output.note(output.look('dim', 'Bundling the workflows of the worker …'));
}

/**
 * Returns the providers for a module that exports none: `openai`, configured from the environment. Warns early if its
 * key seems to be missing.
 */
async function defaultProviders(output: Pick<Output, 'note'>, env: NodeJS.ProcessEnv): Promise<Record<string, ModelClient>> {
  const { openai } = await import('../../../activities/models/openai/openai.ts');
  if (!env['OPENAI_API_KEY'] && !env['OPENAI_BASE_URL']) {
    output.note('OPENAI_API_KEY is not set: calls to models "openai/…" will fail. Set it, or export "providers" from the agents module.');
  }
  return { openai: openai() };
}

/** Returns a module's providers, with which a service shows the wire form of requests. It makes no calls with them. */
export async function wireProviders(agentsModule: Pick<AgentsModule, 'providers'> | undefined): Promise<Record<string, ModelClient>> {
  if (agentsModule === undefined) return {};
  if (agentsModule.providers !== undefined) return agentsModule.providers;
  const { openai } = await import('../../../activities/models/openai/openai.ts');
  return { openai: openai() };
}

/**
 * Checks within 5 s that a worker can run in the namespace, and returns the server. The worker's own connection takes
 * longer and its errors are hard to read. Throws `server_unreachable`, or the server's error for a namespace that it
 * does not have.
 */
export async function checkNamespace(io: CommandIo, flags: ServerFlags): Promise<ServerLocation> {
  return await withClient(io, flags, async ({ client, server }) => {
    await client.temporal.workflowService.describeNamespace({ namespace: server.namespace });
    return server;
  });
}

/**
 * Makes Temporal's SDK log on stderr at the chosen level: by default what tools log, and only warnings and errors of
 * the SDK itself. Leaves signals to the command, because the SDK would shut workers down by itself. Must be called
 * before anything else of the SDK's worker is used.
 */
export async function installQuietRuntime(
  output: Pick<Output, 'note'>,
  choice: LogChoice = { level: 'INFO', format: 'text' },
  page?: PrometheusMetrics,
): Promise<void> {
  const { Runtime } = await import('@temporalio/worker');
  const { runtimeOptions } = await import('../../../worker/install-log.ts');
  Runtime.install({ ...runtimeOptions(choice, (text) => output.note(text), page), shutdownSignals: [] });
}

/** Returns the file of the user's workflows, in the form for the worker. Throws a UsageError if it is not a file. */
export function workflowsFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const file = resolve(path);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
  throw new UsageError(`The workflows module "${path}" is not a file (looked for "${file}"): name the file, such as ./workflows.ts`);
}
