import { randomUUID } from 'node:crypto';
import type { RuntimeOptions } from '../../../activities/create-runtime.ts';
import type { RunResultFields } from '../../core/domain/run/run-result.ts';
import { approvalViews } from '../../core/loop/approvals/approval-view.ts';
import type { RunInput } from '../../core/protocol.ts';
import type { Decide } from '../decisions.ts';
import type { TestedRecord } from '../tested-run.ts';
import { UndecidedRun } from '../undecided-run.ts';
import { ApprovalDriver } from '../harness/approval-driver.ts';
import type { Harness } from '../harness/harness.ts';
import { harnessActivities } from '../harness/harness-activity.ts';
import { memoryAccess } from './memory-access.ts';
import { MemoryActivities } from './memory-activities.ts';
import { memoryClient } from './memory-client.ts';
import { MemoryRun } from './memory-run.ts';
import { MemoryWorker } from './memory-worker.ts';
import type { ActivitySurroundings } from './scheduled-activity.ts';
import { testLogger } from './test-logger.ts';
import { VirtualTime } from './virtual-time.ts';

const NAMESPACE = 'default';

/** What a test brings into the world. */
export interface WorldParts {
  input: RunInput;
  worker: RuntimeOptions;
  decide: Decide | undefined;
}

/** A run in memory, its worker, and the people around it. */
export class MemoryWorld {
  readonly run: MemoryRun;
  readonly #stage: Harness;
  readonly #parts: WorldParts;
  readonly #time: VirtualTime;
  readonly #activities: MemoryActivities;
  readonly #attendant: ApprovalDriver;
  readonly #dead: MemoryWorker[] = [];
  readonly #logger = testLogger();
  #worker: MemoryWorker;

  private constructor(stage: Harness, parts: WorldParts, worker: MemoryWorker) {
    this.#stage = stage;
    this.#parts = parts;
    this.#worker = worker;
    this.#time = new VirtualTime({
      act: () => this.#attend(),
      stuck: () => stage.fail(new UndecidedRun(this.#pending(), structuredClone(this.record()))),
    });
    this.#activities = new MemoryActivities(this.#surroundings());
    this.run = new MemoryRun(stage.runId, parts.input, { time: this.#time, activities: this.#activities });
    const access = memoryAccess(this.run, this.#time);
    stage.run = access;
    stage.worker = { kill: () => this.#kill(), disconnect: () => undefined };
    const { decide = () => undefined } = parts;
    // What a test does is real: no deadline is over meanwhile.
    this.#attendant = new ApprovalDriver(stage, access, (waiting) => this.#time.during((async () => decide(waiting))()));
  }

  /** Opens the worker. Throws what a worker throws that cannot be made. */
  static async open(stage: Harness, parts: WorldParts): Promise<MemoryWorld> {
    return new MemoryWorld(stage, parts, await MemoryWorker.open(parts.worker));
  }

  /** Runs to the end of the run, and of what it has begun. */
  async execute(): Promise<RunResultFields> {
    const result = await this.run.execute();
    this.#stage.end();
    await this.#activities.settled();
    return result;
  }

  /** The record of the run until now. */
  record(): TestedRecord {
    const { state, deps } = this.run;
    const { requests } = this.#stage;
    if (state === undefined) return { events: [], steps: [], deps, state: {}, requests };
    return { events: state.context.events, steps: state.steps, deps: state.deps, state: state.context.state, requests };
  }

  /** Ends all that goes on, and closes what is open. */
  async close(): Promise<void> {
    this.#stage.end();
    this.#time.end();
    this.run.cancel('the test has ended');
    await Promise.all([this.#worker, ...this.#dead].map((worker) => worker.close()));
  }

  #surroundings(): ActivitySurroundings {
    const slowMs = (): number => {
      const slow = this.#stage.plan.of('slow_queries');
      for (const fault of slow) this.#stage.plan.happened(fault);
      return slow.reduce((sum, { ms }) => sum + ms, 0);
    };
    const workflowExecution = { workflowId: this.#stage.runId, runId: randomUUID() };
    return {
      time: this.#time,
      worker: () => this.#worker,
      info: { workflowExecution, workflowNamespace: NAMESPACE, activityNamespace: NAMESPACE, namespace: NAMESPACE, taskQueue: 'memory' },
      environment: {
        client: memoryClient(() => this.run, slowMs),
        logger: this.#logger,
        interceptors: [harnessActivities(this.#stage)],
      },
    };
  }

  /** The new worker knows nothing of what the old one has in memory. */
  async #kill(): Promise<never> {
    const next = MemoryWorker.open(this.#parts.worker);
    this.#activities.workerDied();
    this.#dead.push(this.#worker);
    this.#worker = await this.#time.during(next);
    return Promise.withResolvers<never>().promise;
  }

  #pending(): ReturnType<typeof approvalViews> {
    return this.run.state === undefined ? [] : approvalViews(this.run.state);
  }

  async #attend(): Promise<boolean> {
    try {
      return await this.#attendant.attend(this.#pending());
    } catch (error) {
      this.#stage.fail(error);
      return false;
    }
  }
}
