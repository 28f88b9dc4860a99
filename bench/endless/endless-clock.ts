import type { WindowOptions } from '../../src/define/agent-definition.ts';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { collectHeaps } from '../sides/measured-memory.ts';
import { rounded } from '../figures/statistics.ts';

/** The settings of the endless run's worker process, passed as the JSON of its first argument. */
export interface EndlessSetting {
  address: string;
  namespace: string;
  /** The address of the fake provider. */
  baseURL: string;
  /** The length of a tool result in characters. */
  resultChars: number;
  window: WindowOptions;
  /** The path of the workflow bundle, which is made elsewhere: a bundler would retain memory. */
  bundlePath: string;
}

/** A message to that process: measure the run of this id from its first step on, report the measurements, or end. */
export type EndlessRequest = { type: 'watch'; runId: string; steps: number } | { type: 'report' } | { type: 'stop' };

/** A message from that process. It sends `ready` once its worker is created, and `sampled` after each reading of its memory. */
export type EndlessReply =
  | { type: 'ready' }
  | { type: 'watching' }
  | ({ type: 'sampled' } & WorkerSample)
  | ({ type: 'report' } & StepTimes);

/** The CPU time and the memory of the worker's process at a step. */
export interface WorkerSample {
  /** The number of completed steps. */
  step: number;
  /** Resident bytes of the process, after its heaps were collected. */
  rss: number;
  /** Size of its main heap at that time. */
  heap: number;
  /** Size of the heap of its workflow thread at that time. */
  workflowHeap: number;
  /** User and system time so far, in milliseconds, without the time of the readings. */
  cpuMs: number;
}

/** The start times of the run's steps. */
export interface StepTimes {
  /**
   * The start time of each model call in the worker, including the final answer's, in milliseconds, without the time for
   * reading the memory.
   */
  starts: number[];
  /** Attempts of activities beyond the first. */
  retries: number;
}

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

const PARTS = 10;

/** Returns the measurements of each tenth of `steps` steps. */
export function tenths<Seen extends { step: number }>(seen: readonly Seen[], steps: number): Seen[][] {
  const parts = Array.from({ length: PARTS }, (): Seen[] => []);
  for (const one of seen) parts[Math.floor((one.step * PARTS) / steps)]?.push(one);
  return parts;
}

/** Returns the first and the last of some values. */
export function ends(values: readonly number[]): [first: number, last: number] {
  return [values[0] ?? Number.NaN, values.at(-1) ?? Number.NaN];
}

/** Returns the CPU time of a process for each step, between the first of its readings and the last. */
export function cpuMsPerStep(samples: readonly WorkerSample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || first === last) return Number.NaN;
  return rounded((last.cpuMs - first.cpuMs) / (last.step - first.step), 2);
}
