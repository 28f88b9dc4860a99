import { type Activities, createActivities, DEFAULT } from '../../../activities/index.ts';
import { createRuntime, type RuntimeOptions } from '../../../activities/create-runtime.ts';
import type { ActivityRuntime } from '../../../activities/runtime.ts';

/** An activity, whatever it takes and gives. */
export type AnyActivity = (input: unknown) => Promise<unknown>;

/** What of a worker a run in memory needs: its activities, and what they share. */
export class MemoryWorker {
  readonly runtime: ActivityRuntime;
  readonly #activities: Activities;

  private constructor(runtime: ActivityRuntime) {
    this.runtime = runtime;
    this.#activities = createActivities(runtime);
  }

  /** Opens its resources. Throws what a worker throws that cannot be made. */
  static async open(options: RuntimeOptions): Promise<MemoryWorker> {
    const runtime = createRuntime(options, {
      log: () => undefined,
      upgradeOnContinueAsNew: false,
      searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }),
    });
    const worker = new MemoryWorker(runtime);
    await runtime.resourcePool.open();
    runtime.mcp.start();
    return worker;
  }

  /** The activity of that name. Throws where a worker would not find it. */
  activity(name: string): AnyActivity {
    const activity = this.#activities[name] ?? this.#activities[DEFAULT];
    if (activity === undefined) throw new Error(`Activity function ${name} is not registered on this Worker`);
    return (input) => activity(input as never);
  }

  async close(): Promise<void> {
    await Promise.all([this.runtime.resourcePool.close(), this.runtime.mcp.close()]);
  }
}
