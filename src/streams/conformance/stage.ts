import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Delta } from '../../core/domain/stream/delta.ts';
import type { StreamedAttempt, StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { PublishingActivity, StreamChannel } from '../stream-sink.ts';
import { Reading } from './reading.ts';
import type { StreamSinkCase, TestedSink } from './sink-case.ts';

/** The attempt of the cases that need one alone. */
export const ATTEMPT: StreamedAttempt = { executionId: 'execution', eventId: 'event', through: 2, activity: 1, attempt: 1 };

/** Returns a piece of text of the attempt. */
export function textEntry(index: number, text: string = `text ${index} `): StreamEntry {
  return deltaEntry(index, { type: 'text', text });
}

/** Returns a piece of output of the attempt. */
export function deltaEntry(index: number, delta: Delta): StreamEntry {
  return { type: 'delta', of: ATTEMPT, index, delta };
}

/** Returns the beginning of the attempt, and pieces of text of it. */
export function textEntries(count: number): StreamEntry[] {
  return [{ type: 'attempt', of: ATTEMPT }, ...Array.from({ length: count }, (_, index) => textEntry(index))];
}

/** One case while it runs: its channels, and readings. */
export class Stage {
  /** A run of this case alone. */
  readonly runId = `run-${randomUUID()}`;
  readonly #sink: TestedSink;
  readonly #channels: StreamChannel[] = [];
  readonly #readings: Reading[] = [];
  readonly #activities = new Map<string, PublishingActivity>();
  #worker: StreamChannel | undefined;

  constructor(sink: TestedSink) {
    this.#sink = sink;
  }

  /** The channel that publishes. */
  get worker(): StreamChannel {
    return (this.#worker ??= this.open('worker'));
  }

  open(side: 'worker' | 'client'): StreamChannel {
    const channel = this.#sink.open(side);
    this.#channels.push(channel);
    return channel;
  }

  /** Publishes entries about a run, as the worker does. */
  publish(entries: readonly StreamEntry[], { runId = this.runId, by = this.worker }: { runId?: string; by?: StreamChannel } = {}): void {
    for (const entry of entries) {
      const returned: unknown = by.publish(runId, entry, entry.type === 'recorded' ? undefined : this.#activity(runId, entry.of));
      assert.equal(returned, undefined, '"publish" returned something: it must return at once');
    }
  }

  /** Begins to read a run, by default in a channel of its own. */
  read({ runId = this.runId, after, by = this.open('client') }: { runId?: string; after?: string; by?: StreamChannel } = {}): Reading {
    const reading = new Reading(by, runId, after);
    this.#readings.push(reading);
    return reading;
  }

  async end(): Promise<void> {
    await Promise.all(this.#readings.map((one) => one.stop()));
    await Promise.all(this.#channels.map((one) => one.close()));
  }

  #activity(runId: string, of: StreamedAttempt): PublishingActivity {
    const key = JSON.stringify([runId, of]);
    const activity = this.#activities.get(key) ?? this.#sink.activity?.(runId, of) ?? { live: true, heartbeat: () => undefined };
    this.#activities.set(key, activity);
    return activity;
  }
}

/** Returns a case that plays on a stage. */
export function staged(name: string, play: (stage: Stage) => Promise<void>): StreamSinkCase {
  return {
    name,
    run: async (sink) => {
      const stage = new Stage(sink);
      try {
        await play(stage);
      } finally {
        await stage.end();
      }
    },
  };
}
