import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { ModelRequest } from '../../core/domain/model.ts';
import type { AskStepInput } from '../../core/protocol.ts';
import type { Occurrence } from '../meanwhile.ts';
import type { TestOptions } from '../tested-run.ts';
import { Plan, type Tested } from './plan.ts';
import type { RunAccess, WorkerAccess } from './run-access.ts';

/** The plan and state around one run in a test, in memory or on a server. */
export class Harness {
  readonly runId: string;
  readonly plan: Plan;
  /** The requests to the model. */
  readonly requests: ModelRequest[] = [];
  /** The step of the current model call. */
  readonly step = new AsyncLocalStorage<number>();
  /** Set once the run has started. */
  run: RunAccess | undefined;
  worker: WorkerAccess | undefined;
  /** Rejects if a planned action is impossible: then the test is wrong. */
  readonly failure: Promise<never>;
  readonly #over = Promise.withResolvers<void>();
  readonly #answered: number[] = [];
  /** The model calls of a program, in the order in which they began: the step and its attempt. */
  readonly #asked: string[] = [];
  #fail: (error: unknown) => void = () => undefined;
  #messages = 0;

  constructor(agent: Tested, { runId, faults, meanwhile }: Pick<TestOptions, 'runId' | 'faults' | 'meanwhile'>) {
    this.runId = runId ?? `${agent.name}-${randomUUID()}`;
    this.plan = new Plan(agent, faults, meanwhile);
    this.failure = new Promise((_, reject) => (this.#fail = reject));
    // The test awaits this while the run is running; it may reject before or after.
    this.failure.catch(() => undefined);
  }

  /** Fails the test. */
  fail(error: unknown): void {
    this.#fail(error);
  }

  /** Resolves once the run has ended. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Records that the run has ended. */
  end(): void {
    this.#over.resolve();
  }

  /** Returns the step of the model call after so many events. A retry belongs to the same step. */
  stepOf(through: number): number {
    const index = this.#answered.indexOf(through);
    return (index < 0 ? this.#answered.length : index) + 1;
  }

  /** Returns the number of a model call of a program. Further attempts of its activity belong to the same call. */
  stepOfAsk({ step, attempt = 1 }: Pick<AskStepInput, 'step' | 'attempt'>): number {
    const ask = `${step}#${attempt}`;
    if (!this.#asked.includes(ask)) this.#asked.push(ask);
    return this.#asked.indexOf(ask) + 1;
  }

  /** Records that the model call after so many events was answered. */
  answered(through: number): void {
    if (!this.#answered.includes(through)) this.#answered.push(through);
  }

  /** Performs a planned action on the run. Fails the test if the run refuses it. */
  async say(occurrence: Occurrence): Promise<void> {
    try {
      await this.#say(occurrence);
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  async #say(occurrence: Occurrence): Promise<unknown> {
    if (this.run === undefined) throw new Error('The run has not begun');
    switch (occurrence.type) {
      case 'send':
        return this.run.send(`message ${++this.#messages}`, occurrence.content, occurrence.mode);
      case 'cancel':
        return this.run.cancel(occurrence.reason);
      case 'permissions':
        return this.run.setPermissions(`permissions ${++this.#messages}`, occurrence.permissions);
      case 'raise':
        return this.run.raise(`raise ${++this.#messages}`, occurrence.limits);
    }
  }
}
