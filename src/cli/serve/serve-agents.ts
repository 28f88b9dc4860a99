import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { errorMessage } from '../../core/domain/errors/error.ts';
import type { AgentsModule } from './agents-module.ts';
import type { CommandIo } from '../program/command.ts';
import { defaultProviders } from './default-providers.ts';
import { EXIT_CODES } from '../exit-codes.ts';

/** What a worker of a command needs: its agents, and where it polls. */
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
 * Runs a worker until the terminal's signal, and drains it. Returns the exit code: calls that do not end even when they
 * are aborted are an error. Rejects where the worker fails.
 */
export async function serveAgents({ terminal, output }: CommandIo, options: ServeOptions): Promise<number> {
  const { agentsModule, graceMs, ready, ...place } = options;
  const { signal } = terminal;
  const { createWorker } = await import('../../../worker/index.ts');
  const worker = await createWorker({
    ...place,
    agents: agentsModule.agents,
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
