import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { ModelRequest } from '../../core/domain/model/model.ts';
import type { Occurrence } from '../meanwhile.ts';
import type { TestOptions } from '../tested-run.ts';
import { Plan } from './plan.ts';
import type { RunAccess, WorkerAccess } from './run-access.ts';

/** What happens around one run in a test, in memory or on a server. */
export class Harness {
  readonly runId: string;
  readonly plan: Plan;
  /** What the model was asked. */
  readonly requests: ModelRequest[] = [];
  /** The step that the model call at hand is for. */
  readonly step = new AsyncLocalStorage<number>();
  /** Set once the run has begun. */
  run: RunAccess | undefined;
  worker: WorkerAccess | undefined;
  /** Rejects where what is planned cannot be done: the test is wrong then. */
  readonly failure: Promise<never>;
  readonly #over = Promise.withResolvers<void>();
  readonly #answered: number[] = [];
  #fail: (error: unknown) => void = () => undefined;
  #messages = 0;

  constructor(agent: AnyAgent, { runId, faults, meanwhile }: Pick<TestOptions, 'runId' | 'faults' | 'meanwhile'>) {
    this.runId = runId ?? `${agent.name}-${randomUUID()}`;
    this.plan = new Plan(agent, faults, meanwhile);
    this.failure = new Promise((_, reject) => (this.#fail = reject));
    // Whoever waits for the run hears of it; nobody may wait any more.
    this.failure.catch(() => undefined);
  }

  /** The test cannot go on. */
  fail(error: unknown): void {
    this.#fail(error);
  }

  /** Resolves once the run has ended. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** The run has ended. */
  end(): void {
    this.#over.resolve();
  }

  /** The step of the model call after so many events: an attempt that is made again is for the same. */
  stepOf(through: number): number {
    const index = this.#answered.indexOf(through);
    return (index < 0 ? this.#answered.length : index) + 1;
  }

  /** The model call after so many events has its answer. */
  answered(through: number): void {
    if (!this.#answered.includes(through)) this.#answered.push(through);
  }

  /** Says to the run what is planned. Rejects where it refuses, and then the test fails. */
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
      case 'raise':
        return this.run.raise(`raise ${++this.#messages}`, occurrence.limits);
    }
  }
}
