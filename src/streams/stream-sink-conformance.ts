import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { defined, type JsonValue } from '../core/domain/json.ts';
import { type Delta, type StreamedAttempt, type StreamEntry, WAITS_STREAM } from '../core/domain/stream.ts';
import type { PublishingActivity, StreamChannel, StreamRead } from './stream-sink.ts';
import { within } from './waits.ts';

/** One case while it runs: its channels, and readings. */
class Stage {
  /** A run that only this case uses. */
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

  /** Begins to read a run, by default in a separate channel. */
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

/** The attempt of the cases that need only one. */
export const ATTEMPT: StreamedAttempt = { executionId: 'execution', eventId: 'event', through: 2, activity: 1, attempt: 1 };

/** Cases about what readers receive, and in which order. */
const READING_CASES: readonly StreamSinkCase[] = [
  staged('yields entries in the order of their publication', async (stage) => {
    const published = textEntries(300);
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('yields what is published while it is read', async (stage) => {
    const published = textEntries(20);
    const reading = stage.read();
    const first = reading.entries(1);
    for (const [index, entry] of published.entries()) {
      stage.publish([entry]);
      assert.deepEqual(index === 0 ? await first : await reading.entries(1), [entry]);
    }
  }),
  staged('yields what is kept to a reader that comes late, and then what is new', async (stage) => {
    const early = textEntries(5);
    stage.publish(early);
    await stage.read().entries(early.length);
    const late = stage.read();
    assert.deepEqual(await late.entries(early.length), early);
    stage.publish([textEntry(5)]);
    assert.deepEqual(await late.entries(1), [textEntry(5)]);
  }),
  staged('yields everything to each of several readers', async (stage) => {
    const published = textEntries(50);
    const readings = [stage.read(), stage.read(), stage.read({ by: stage.open('client') })];
    const read = readings.map((one) => one.entries(published.length));
    stage.publish(published);
    for (const entries of await Promise.all(read)) assert.deepEqual(entries, published);
  }),
  staged('continues exactly behind any position, also in another channel', async (stage) => {
    const published = textEntries(12);
    stage.publish(published);
    const reads = await stage.read().reads(published.length);
    assert.equal(new Set(reads.map(({ position }) => position)).size, published.length, 'Two entries of a run have the same position');
    const by = stage.open('client');
    for (const [index, { position }] of reads.slice(0, -1).entries()) {
      const rest = published.slice(index + 1);
      const again = stage.read({ after: position, by });
      assert.deepEqual(await again.entries(rest.length), rest);
      await again.stop();
    }
  }),
  staged('yields only what is new to a reader that has read everything', async (stage) => {
    const published = textEntries(3);
    stage.publish(published);
    const after = (await stage.read().reads(published.length)).at(-1)?.position;
    assert.ok(after !== undefined);
    const again = stage.read({ after });
    const next = again.entries(1);
    stage.publish([textEntry(3)]);
    assert.deepEqual(await next, [textEntry(3)]);
  }),
  staged('keeps runs apart, also if their ids look alike', async (stage) => {
    const ids = ['', ':a', '.b', '/c', ' d', '%2F', '[e]', ' ü€😀'].map((end) => `${stage.runId}${end}`);
    for (const runId of ids) stage.publish([...textEntries(0), textEntry(0, runId)], { runId });
    for (const runId of ids) {
      const reading = stage.read({ runId });
      assert.deepEqual(await reading.entries(2), [...textEntries(0), textEntry(0, runId)]);
      stage.publish([textEntry(1, `more of ${runId}`)], { runId });
      assert.deepEqual(await reading.entries(1), [textEntry(1, `more of ${runId}`)]);
      await reading.stop();
    }
  }),
];

const FLOOD = 4_000;
/** Together with the number of entries more than most sinks keep of one run. */
const LONG_TEXT = 'x'.repeat(2_000);

/** Cases of entries that are missing. */
const LOSING_CASES: readonly StreamSinkCase[] = [
  staged('yields "lost" behind a position that it does not know, and then what is kept', async (stage) => {
    const published = textEntries(2);
    stage.publish(published);
    for (const after of ['', 'unknown', '0', '-1', '99999999999999-7', 'a.b.c.1', '__proto__', '\u0000']) {
      const reading = stage.read({ after });
      await reading.lost();
      assert.deepEqual(await reading.entries(published.length), published);
      await reading.stop();
    }
  }),
  staged('yields "lost" behind a position of another run', async (stage) => {
    const other = `${stage.runId}-other`;
    stage.publish(textEntries(3), { runId: other });
    const [first] = await stage.read({ runId: other }).reads(1);
    assert.ok(first !== undefined);
    stage.publish(textEntries(2));
    const reading = stage.read({ after: first.position });
    await reading.lost();
    assert.deepEqual(await reading.entries(3), textEntries(2));
  }),
  staged('yields "lost" to a reader that does not read, wherever entries are missing, and continues', async (stage) => {
    const reading = stage.read();
    stage.publish(textEntries(0));
    await reading.entries(1);
    // A worker publishes over time: the sink gets turns in between.
    for (let index = 0; index < FLOOD; index += 1) {
      stage.publish([textEntry(index, LONG_TEXT)]);
      if (index % 100 === 99) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    let next = 0;
    let isLost = false;
    while (next < FLOOD) {
      const read = await reading.next();
      if (read.type === 'lost') {
        isLost = true;
        continue;
      }
      const { entry } = read;
      assert.ok(entry.type === 'delta' && entry.index >= next, 'The sink yielded an entry again, or in another order');
      assert.ok(entry.index === next || isLost, `Entries before ${entry.index} are missing, and the sink did not yield "lost"`);
      next = entry.index + 1;
      isLost = false;
    }
  }),
];

const HOSTILE_TEXTS = [
  '',
  '\u0000 and \u001F',
  '\uD83D',
  'before \uDE00 after',
  '😀 ü \u2028 \u2029 \uFEFF',
  '\r\n"\\\'`${}<!--',
  'data: {}\n\n',
  'é'.repeat(500_000),
];

/** Cases of what a sink carries, and of its use by workers. */
const CARRYING_CASES: readonly StreamSinkCase[] = [
  staged('carries the output of models and tools unchanged', async (stage) => {
    const data = { nested: [1, -2.5, null, true, { a: '\uD83D' }], ['__proto__']: { polluted: true }, '': [] };
    const deltas: Delta[] = [
      { type: 'text', text: 'text' },
      { type: 'text', text: 'more' },
      { type: 'reasoning', text: 'reasoning' },
      { type: 'tool_input', callId: 'c1', toolName: 'search', text: '{"q":' },
      { type: 'tool_input', callId: 'c2', toolName: 'search', text: '1}' },
      { type: 'data', callId: 'c1', name: 'progress', data: data as JsonValue },
      { type: 'data', callId: 'c1', name: '', data: null },
    ];
    const published: StreamEntry[] = [{ type: 'attempt', of: ATTEMPT }, ...deltas.map((delta, index) => deltaEntry(index, delta))];
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('carries attempts of several calls and tools', async (stage) => {
    const tool = { ...ATTEMPT, callId: 'call', through: 3 };
    const second = { ...ATTEMPT, attempt: 2 };
    const published: StreamEntry[] = [ATTEMPT, tool, second].flatMap((of): StreamEntry[] => [
      { type: 'attempt', of },
      { type: 'delta', of, index: 0, delta: { type: 'text', text: 'a' } },
    ]);
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('carries what a run has recorded', async (stage) => {
    const published: StreamEntry[] = [
      { type: 'recorded', executionId: 'execution', events: 1, steps: 0, status: 'running' },
      { type: 'recorded', executionId: 'execution', events: 4, steps: 1, status: 'completed' },
    ];
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
    // What is about all runs has one id, under which others may have published before.
    const waiting: StreamEntry = { type: 'recorded', executionId: stage.runId, events: 2, steps: 0, status: 'pending_confirmation' };
    stage.publish([waiting], { runId: WAITS_STREAM });
    const waits = stage.read({ runId: WAITS_STREAM });
    for (;;) {
      const read = await waits.next();
      if (read.type === 'entry' && isDeepStrictEqual(read.entry, waiting)) break;
    }
  }),
  staged('carries texts of any characters, and of 1 MB', async (stage) => {
    const published = [...textEntries(0), ...HOSTILE_TEXTS.map((text, index) => textEntry(index, text))];
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('throws nothing for an entry that it cannot carry, and carries the next', async (stage) => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    for (const data of [1n, () => 1, Symbol('s'), circular, throwing()]) {
      stage.publish([deltaEntry(0, { type: 'data', callId: 'c', name: 'n', data: data as JsonValue })]);
    }
    stage.publish(textEntries(1));
    const reading = stage.read();
    for (;;) {
      const read = await reading.next();
      if (read.type === 'entry' && read.entry.type === 'delta' && read.entry.delta.type === 'text') break;
    }
  }),
  staged('keeps an entry as it was when it was published', async (stage) => {
    const data: { value: number } = { value: 1 };
    stage.publish([...textEntries(0), deltaEntry(0, { type: 'data', callId: 'c', name: 'n', data })]);
    data.value = 2;
    const [, entry] = await stage.read().entries(2);
    assert.deepEqual(entry, deltaEntry(0, { type: 'data', callId: 'c', name: 'n', data: { value: 1 } }));
  }),
];

/** Cases of the end of readers and channels. */
const ENDING_CASES: readonly StreamSinkCase[] = [
  staged('ends a reader if its signal is aborted, while it waits and before it began', async (stage) => {
    stage.publish(textEntries(1));
    const reading = stage.read();
    await reading.entries(2);
    const ended = reading.ended();
    reading.abort();
    await ended;
    const never = stage.read();
    never.abort();
    await never.ended();
  }),
  staged('ends its readers if it is closed, and no others', async (stage) => {
    const [closing, open] = [stage.open('client'), stage.open('client')];
    const [ending, going] = [stage.read({ by: closing }), stage.read({ by: open })];
    stage.publish(textEntries(0));
    await Promise.all([ending.entries(1), going.entries(1)]);
    const ended = ending.ended();
    await closing.close();
    await ended;
    await stage.read({ by: closing }).ended();
    stage.publish(textEntries(1).slice(1));
    assert.deepEqual(await going.entries(1), textEntries(1).slice(1));
  }),
  staged('sends what it keeps before it is closed', async (stage) => {
    const published = textEntries(50);
    const worker = stage.open('worker');
    stage.publish(published, { by: worker });
    await worker.close();
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('may be closed twice, and ignores what is published then', async (stage) => {
    const worker = stage.open('worker');
    await worker.close();
    await worker.close();
    stage.publish(textEntries(3), { by: worker });
    const other = textEntries(2);
    stage.publish(other);
    assert.deepEqual(await stage.read().entries(other.length), other);
  }),
  staged('is healthy while it is open', async (stage) => {
    await stage.worker.health();
    const client = stage.open('client');
    await client.health();
    await client.close();
    await assert.rejects(client.health(), 'A closed channel is healthy');
  }),
];

/**
 * The behaviors that every sink of live output has. They work with any test runner:
 * `for (const { name, run } of streamSinkConformance) test(name, () => run({ open: (side) => mySink.open(contextOf(side)) }))`.
 */
export const streamSinkConformance: readonly StreamSinkCase[] = [...READING_CASES, ...LOSING_CASES, ...CARRYING_CASES, ...ENDING_CASES];

function throwing(): object {
  return {
    get value(): never {
      throw new Error('This value cannot be read');
    },
  };
}

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

function staged(name: string, play: (stage: Stage) => Promise<void>): StreamSinkCase {
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

/** How long a read may take. It is long, because the test machine may be busy. */
const ARRIVAL_MS = 15_000;

/** A reader that only reads on request. */
class Reading {
  readonly #abort = new AbortController();
  readonly #iterator: AsyncIterator<StreamRead>;

  constructor(channel: StreamChannel, runId: string, after: string | undefined) {
    const options = { signal: this.#abort.signal, ...defined({ after }) };
    this.#iterator = channel.read(runId, options)[Symbol.asyncIterator]();
  }

  /** Returns the next read, of any type. */
  async next(): Promise<StreamRead> {
    const { done, value } = await inTime(this.#iterator.next(), 'The next read did not arrive');
    assert.ok(done !== true, 'The reader ended, although nothing ended it');
    return value;
  }

  /** Returns the next entries. Fails for `lost`. */
  async entries(count: number): Promise<StreamEntry[]> {
    return (await this.reads(count)).map(({ entry }) => entry);
  }

  /** Returns the next entries with their positions. Fails for `lost`. */
  async reads(count: number): Promise<Extract<StreamRead, { type: 'entry' }>[]> {
    const reads: Extract<StreamRead, { type: 'entry' }>[] = [];
    while (reads.length < count) {
      const read = await this.next();
      assert.equal(read.type, 'entry', `The sink yielded "lost" after ${reads.length} of ${count} entries, although nothing is missing`);
      if (read.type === 'entry') reads.push(read);
    }
    return reads;
  }

  /** Asserts that the next read is `lost`. */
  async lost(): Promise<void> {
    const read = await this.next();
    assert.equal(read.type, 'lost', `The sink yielded ${JSON.stringify(read)} instead of "lost"`);
  }

  /** Aborts the signal of the reader. */
  abort(): void {
    this.#abort.abort();
  }

  /** Asserts that the reader has ended. */
  async ended(): Promise<void> {
    const { done, value } = await inTime(this.#iterator.next(), 'The reader did not end');
    assert.ok(done === true, `The sink yielded ${JSON.stringify(value)} to a reader that should have ended`);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#iterator.return?.();
  }
}

function inTime<Value>(promise: Promise<Value>, says: string): Promise<Value> {
  return within(ARRIVAL_MS, promise, () => new assert.AssertionError({ message: `${says} within ${ARRIVAL_MS} ms` }));
}

/** A sink as the cases use it. */
export interface TestedSink {
  /** Opens the sink for a worker or a client. Each call opens another channel to the same entries. */
  open(side: 'worker' | 'client'): StreamChannel;
  /** Returns the activity that publishes about an attempt. Default: one of a live run, whose heartbeats are not sent. */
  activity?(runId: string, of: StreamedAttempt): PublishingActivity;
}

/** One behavior that every sink of live output has. */
export interface StreamSinkCase {
  /** The behavior in a sentence without a subject: "yields entries in the order of their publication". */
  name: string;
  /** Rejects with an AssertionError if the sink behaves differently. Every case has separate runs, and closes what it opens. */
  run(sink: TestedSink): Promise<void>;
}
