import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import type { StepTimes, WorkerSample } from './endless-messages.ts';
import { collectHeaps } from './thread-heap.ts';

/** The number of readings in a run. */
const SAMPLES = 100;

/** Records the start of each step of one run, and reads time and memory of the process at every hundredth of it. */
export class EndlessClock {
  /** Called with each reading. */
  sampled: (sample: WorkerSample) => void = () => undefined;
  #runId = '';
  #steps = 0;
  #starts: number[] = [];
  #retries = 0;
  /** Milliseconds of time, and of the process's CPU, that the readings took. */
  #spentMs = 0;
  #spentCpuMs = 0;

  /** Measures the run of this id. */
  watch(runId: string, steps: number): void {
    this.#runId = runId;
    this.#steps = steps;
    this.#starts = [];
    this.#retries = 0;
  }

  /** Returns the recorded times. */
  times(): StepTimes {
    return { starts: this.#starts, retries: this.#retries };
  }

  /** Must be registered with the worker that is measured. */
  readonly interceptor: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: async (input, next) => {
        if (info.workflowExecution?.workflowId === this.#runId) await this.#note(info.activityType, info.attempt);
        return next(input);
      },
    },
  });

  async #note(activity: string, attempt: number): Promise<void> {
    if (attempt > 1) this.#retries += 1;
    else if (activity === ACTIVITIES.callModel) await this.#begin();
  }

  async #begin(): Promise<void> {
    const step = this.#starts.length;
    const every = Math.max(1, Math.floor(this.#steps / SAMPLES));
    // A run may continue after the measured part: its later calls are not delayed.
    if (step > 0 && step < this.#steps && step % every === 0) await this.#sample(step);
    this.#starts.push(performance.now() - this.#spentMs);
  }

  /** No other work of the run happens meanwhile. Garbage that waits for its collection does not count as memory of a run. */
  async #sample(step: number): Promise<void> {
    const start = performance.now();
    const cpuMs = cpuTime() - this.#spentCpuMs;
    const heaps = await collectHeaps();
    this.sampled({ step, rss: process.memoryUsage.rss(), heap: heaps.main, workflowHeap: heaps.workflows, cpuMs });
    this.#spentMs += performance.now() - start;
    this.#spentCpuMs = cpuTime() - cpuMs;
  }
}

function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
