import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { type Activities, createActivities, DEFAULT } from '../../../activities/create-activities.ts';
import { checkExecutors } from '../../../activities/executors/create-executor.ts';
import { createRuntime, type RuntimeOptions } from '../../../activities/create-runtime.ts';
import type { ActivityRuntime } from '../../../activities/runtime.ts';

/** The converter of a run in memory, whose values are not encoded. */
const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

/** An activity with any input and output. */
export type AnyActivity = (input: unknown) => Promise<unknown>;

/** The part of a worker that a run in memory needs: its activities, and their shared runtime. */
export class MemoryWorker {
  readonly runtime: ActivityRuntime;
  readonly #activities: Activities;

  private constructor(runtime: ActivityRuntime) {
    this.runtime = runtime;
    this.#activities = createActivities(runtime);
  }

  /** Opens a worker and its resources. Throws the errors of a worker that cannot be created. */
  static async open(options: RuntimeOptions): Promise<MemoryWorker> {
    const runtime = createRuntime(options, {
      log: () => undefined,
      upgradeOnContinueAsNew: false,
      searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }),
    });
    const worker = new MemoryWorker(runtime);
    await checkExecutors(runtime.registry.agents);
    await runtime.resourcePool.open();
    runtime.mcp.start();
    runtime.streams?.open('default', CONVERTER);
    return worker;
  }

  /** Returns the activity of that name. Throws if a worker would not find it. */
  activity(name: string): AnyActivity {
    const activity = this.#activities[name] ?? this.#activities[DEFAULT];
    if (activity === undefined) throw new Error(`Activity function ${name} is not registered on this Worker`);
    return (input) => activity(input as never);
  }

  async close(): Promise<void> {
    const { resourcePool, mcp, namespaces, streams } = this.runtime;
    await Promise.all([resourcePool.close(), mcp.close(), namespaces.close(), streams?.close()]);
  }
}
