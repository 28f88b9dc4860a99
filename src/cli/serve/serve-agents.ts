import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import type { AgentsModule } from './agents-module.ts';
import type { CommandIo } from '../program/command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { ModelClient } from '../../core/domain/model.ts';
import type { Output } from '../output.ts';

/** The options of a worker that a command runs: its agents and programs, and the server and task queue that it polls. */
export interface ServeOptions extends Pick<
  CreateWorkerOptions,
  'connection' | 'address' | 'namespace' | 'taskQueue' | 'codec' | 'versioning' | 'workflowsPath' | 'worker'
> {
  agentsModule: AgentsModule;
  graceMs: number;
  /** Called when the worker polls. */
  ready: (taskQueue: string) => void | Promise<void>;
}

/**
 * Runs a worker until the terminal's signal, then drains it. Returns the exit code, which is an error if calls do not
 * end even when they are aborted. Rejects if the worker fails.
 */
export async function serveAgents({ terminal, output }: CommandIo, options: ServeOptions): Promise<number> {
  const { agentsModule, graceMs, ready, ...workerOptions } = options;
  const { signal } = terminal;
  const { createWorker } = await import('../../../worker/index.ts');
  if (workerOptions.worker?.workflowBundle === undefined) sayBundling(output);
  const worker = await createWorker({
    ...workerOptions,
    agents: agentsModule.agents,
    programs: agentsModule.programs,
    tools: agentsModule.tools,
    anchors: agentsModule.anchors,
    ...(agentsModule.memory === undefined ? {} : { memory: agentsModule.memory }),
    providers: agentsModule.providers ?? (await defaultProviders(output, terminal.env)),
    resources: agentsModule.resources,
    ...agentsModule.more,
    ...(agentsModule.archive === undefined ? {} : { archive: agentsModule.archive }),
    ...(agentsModule.payloadStore === undefined ? {} : { payloadStore: agentsModule.payloadStore }),
    shutdownGrace: graceMs,
  });
  const running = worker.run();
  const drain = (): void => {
    output.note(`Draining: calls in flight may go on for ${graceMs / 1000} s. Ctrl-C again stops at once.`);
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

/** Says what a worker does before it polls: it takes most of the start, and nothing else is seen of it. */
export function sayBundling(output: Pick<Output, 'note' | 'look'>): void {
  output.note(output.look('dim', 'Bundling the workflows of the worker …'));
}

/**
 * Returns the providers for a module that exports none: `openai`, configured from the environment. Warns early if its
 * key seems to be missing.
 */
async function defaultProviders(output: Pick<Output, 'note'>, env: NodeJS.ProcessEnv): Promise<Record<string, ModelClient>> {
  const { openai } = await import('../../../activities/models/index.ts');
  if (!env['OPENAI_API_KEY'] && !env['OPENAI_BASE_URL']) {
    output.note('OPENAI_API_KEY is not set: calls to models "openai/…" will fail. Set it, or export "providers" from the agents module.');
  }
  return { openai: openai() };
}
