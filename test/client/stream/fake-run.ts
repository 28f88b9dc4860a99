import { type Event, newEvent } from '../../../src/core/domain/record.ts';
import { newStep, type StepResult } from '../../../src/core/domain/tool-calls.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { RunResultFields } from '../../../src/core/domain/result.ts';
import type { RunStatus } from '../../../src/core/domain/run.ts';
import type { StreamEntry } from '../../../src/core/domain/stream.ts';
import type { FeedSources } from '../../../src/client/stream/run-feed.ts';
import { Bell } from '../../../src/streams/waits.ts';
import type { StreamRead } from '../../../src/streams/stream-sink.ts';

/** A page holds few events, so that readers come to its end. */
const PAGE_EVENTS = 3;

/** A run in memory: its record, and what its workers publish. */
export class FakeRun {
  readonly events: Event[] = [];
  readonly steps: StepResult[] = [];
  status: RunStatus = 'running';
  result: RunResultFields | undefined;
  /** Its executions, the oldest first. */
  executions = ['execution-1'];
  get executionId(): string {
    return this.executions.at(-1) ?? '';
  }

  /** The number of pages that were read. */
  reads = 0;
  readonly #published: StreamRead[] = [];
  readonly #bell = new Bell();
  readonly #gatherMs: number;

  /** `gatherMs`: milliseconds from an announcement to the query for news. */
  constructor({ gatherMs = 0 }: { gatherMs?: number } = {}) {
    this.#gatherMs = gatherMs;
  }

  /** Publishes an entry to the readers of all processes. */
  publish(entry: StreamEntry): void {
    this.#push({ type: 'entry', position: `${this.#published.length}`, entry });
  }

  /** Loses what the sink has kept so far. */
  lose(): void {
    this.#push({ type: 'lost' });
  }

  /** Records an event, and a step if it completes one. */
  record(id: string, content: Event['content'], more: Partial<Event> = {}): void {
    this.events.push({ ...newEvent({ id, now: 0 }, 'run-1', 'clerk', content), ...more });
    if (more.usage !== undefined && !more.interrupted) this.steps.push(newStep(this.steps.length + 1));
  }

  announce(): void {
    const { executionId, status } = this;
    this.publish({ type: 'recorded', executionId, events: this.events.length, steps: this.steps.length, status });
  }

  end(): void {
    this.status = 'completed';
    this.result = {
      version: 1,
      runId: 'run-1',
      agentName: 'clerk',
      output: 'done',
      status: 'completed',
      stopReason: 'final_answer',
      stepsUsed: this.steps.length,
      usage: { ...noUsage(), llmCalls: this.steps.length },
      toolCallsTotal: 0,
      toolCallsByName: {},
      startTime: null,
      endTime: null,
      durationSeconds: null,
      error: null,
      limits: { steps: 10 },
    };
    this.#bell.ring();
  }

  /** Returns what one process reads the run by. */
  sources(): FeedSources {
    return {
      pages: {
        read: (place) => this.#page(place),
        shared: (place) => this.#page(place),
        ended: () => undefined,
        end: async () => ({ offset: this.events.length, step: this.steps.length, status: this.status }),
      },
      news: {
        pauseMs: () => 1,
        gatherMs: this.#gatherMs,
        look: async () => ({ executionId: this.executionId, closed: this.result !== undefined, isNew: true }),
      },
      executions: async () => ({ ids: this.executions, isComplete: true }),
      newest: async () => ({ executionId: this.executionId, closed: this.result !== undefined }),
      result: async () => {
        if (this.result === undefined) throw new Error('The run has not ended');
        return this.result;
      },
      announced: () => true,
      live: (signal) => this.live(signal),
    };
  }

  async #page({ offset, step }: { offset: number; step: number }): ReturnType<FeedSources['pages']['read']> {
    this.reads += 1;
    await Promise.resolve();
    const events = this.events.slice(offset, offset + PAGE_EVENTS);
    const steps = this.steps.slice(step);
    return { events, steps, isLast: offset + events.length >= this.events.length, status: this.status };
  }

  /** Yields the published entries. */
  async *live(signal: AbortSignal): AsyncGenerator<StreamRead> {
    for (let next = 0; !signal.aborted;) {
      const read = this.#published[next];
      if (read === undefined) {
        await this.#bell.next(signal);
        continue;
      }
      next += 1;
      yield read;
    }
  }

  #push(read: StreamRead): void {
    this.#published.push(read);
    this.#bell.ring();
  }
}
