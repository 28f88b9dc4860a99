import type { Client } from '@temporalio/client';
import { Replayer } from '../../../worker/index.ts';
import { readChain } from '../../storm/queries/read-chain.ts';
import { replayed } from '../../storm/queries/replayed.ts';

/** Replays histories: a run that a query has made inconsistent does not replay. */
export class HistoryCheck {
  readonly #replayer: Replayer;
  #last: Promise<unknown> = Promise.resolve();

  /** `bundlePath`: the workflows of the workers. */
  constructor(bundlePath: string) {
    const nothing = { fn: () => undefined, callDuringReplay: false };
    this.#replayer = new Replayer({ worker: { workflowBundle: { codePath: bundlePath }, sinks: { crash: { reached: nothing } } } });
  }

  /** The problems with the histories of a run. Runs are checked sequentially, because a replayer does one replay at a time. */
  problems(client: Client, runId: string): Promise<string[]> {
    const checked = this.#last.then(async () => {
      const executions = await replayed(this.#replayer, runId, await readChain(client, runId));
      return executions.flatMap(({ failedTasks, divergence }, index) => [
        ...failedTasks.map((failure) => `a workflow task of execution ${index + 1} failed: ${failure}`),
        ...(divergence === undefined ? [] : [`execution ${index + 1} does not replay: ${divergence}`]),
      ]);
    });
    this.#last = checked.catch(() => undefined);
    return checked;
  }

  close(): Promise<void> {
    return this.#replayer.close();
  }
}
