import { beforeEach, describe, expect, it } from 'vitest';
import { type FetchTranscript, TranscriptCache, type TranscriptReference } from '../../../activities/run-queries/transcript.ts';
import type { ContentItem, ToolResult } from '../../../src/core/domain/content.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import type { Window } from '../../../src/core/domain/window.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../src/core/kernel/continue-as-new.ts';
import { newRunState, recordEvent, type RunState } from '../../../src/core/kernel/run-state.ts';
import type { TranscriptAnswer } from '../../../src/core/protocol.ts';
import { transcriptPage } from '../../../src/core/queries/queries.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

/** The fields of an answer other than its events. */
const ENVELOPE_BYTES = 200;
/** Id, author and the names of fields. */
const BESIDE_CONTENT_BYTES = 100;
const RESULT_CHARS = 2_000;

/** A run with a transcript query whose answers are counted: they are what crosses the network. */
class CountedRun {
  answers: TranscriptAnswer[] = [];
  #state: RunState;
  #execution = 1;
  #ids = 0;
  readonly #clock = { now: () => 0, uuid: () => `e${(this.#ids += 1)}` };

  constructor() {
    this.#state = newRunState({ runId: 'r', snapshot: testSnapshot(), input: 'Read pages.', startedAt: 0 }, this.#clock);
  }

  get window(): Window {
    return this.#state.window;
  }

  /** Records this many tool calls with their results. */
  steps(count: number): this {
    for (let step = 0; step < count; step += 1) {
      const toolCallId = `c${this.window.through}`;
      this.record([{ type: 'tool_call', toolCallId, name: 'read', arguments: {} }]);
      this.record([result(toolCallId)]);
    }
    return this;
  }

  record(content: ContentItem[], more: Partial<Parameters<typeof recordEvent>[2]> = {}): void {
    recordEvent(this.#state, this.#clock, { author: 'a', content, ...more });
  }

  continueAsNew(): void {
    const inbox = { messages: [], seen: [], paused: false };
    const position = { type: 'call_model', final: false } as const;
    const continuedState = toContinueAsNewState(this.#state, position, { executions: this.#execution, inbox });
    this.#execution += 1;
    this.#state = fromContinueAsNewState(JSON.parse(JSON.stringify(continuedState))).state;
  }

  /** Assembles the conversation as an activity of this run does; returns it with the answers that were necessary. */
  async readBy(cache: TranscriptCache): Promise<{ window: Window; answers: TranscriptAnswer[] }> {
    this.answers = [];
    const { through, lastEventId } = this.window;
    const reference: TranscriptReference = { through, lastEventId };
    const window = await cache.load({ chain: 'r', execution: `r@${this.#execution}` }, reference, this.#ask);
    return { window, answers: this.answers };
  }

  readonly #ask: FetchTranscript = (question) => {
    const answer = JSON.parse(JSON.stringify(transcriptPage(this.#state, question))) as TranscriptAnswer;
    this.answers.push(answer);
    return Promise.resolve(answer);
  };
}

function result(toolCallId: string): ToolResult {
  return { type: 'tool_result', toolCallId, name: 'read', status: 'success', content: ['x'.repeat(RESULT_CHARS)] };
}

/** Bytes of all answers, and of the events in them. */
function transferred(answers: TranscriptAnswer[]): { bytes: number; events: string[] } {
  return { bytes: jsonBytes(answers), events: answers.flatMap(({ events }) => events.map(({ id }) => id)) };
}

describe('the transferred part of a conversation', () => {
  let run: CountedRun;
  let cache: TranscriptCache;

  beforeEach(async () => {
    run = new CountedRun().steps(50);
    cache = new TranscriptCache(10_000_000);
    await run.readBy(cache);
  });

  it('is the whole, once, if the process has not seen the run', async () => {
    const { window, answers } = await run.readBy(new TranscriptCache(10_000_000));
    expect(window).toEqual(run.window);
    expect(transferred(answers).events).toHaveLength(101);
  });

  it('is empty if the process has seen the last event', async () => {
    expect((await run.readBy(cache)).answers).toEqual([]);
  });

  it.each([1, 2, 5, 20])('is exactly the missing events: %i steps', async (steps) => {
    const before = run.window;
    run.steps(steps);
    expect(await sent()).toEqual(noMoreThan(2 * steps, run.window.bytes - before.bytes));
  });

  it('is exactly the missing events even if the run has continued as new between them', async () => {
    const before = run.window;
    run.steps(2);
    run.continueAsNew();
    run.steps(3);
    expect(await sent()).toEqual(noMoreThan(10, run.window.bytes - before.bytes));
    run.continueAsNew();
    run.continueAsNew();
    run.steps(1);
    expect(await sent()).toEqual(noMoreThan(2, RESULT_CHARS + 200));
  });

  it('is empty right after the run has continued as new', async () => {
    run.continueAsNew();
    expect((await run.readBy(cache)).answers).toEqual([]);
  });

  it('is the compaction alone if results were evicted: the process has the rest', async () => {
    const compaction = { evicted: evictedPlaces(40) };
    run.record([], { compaction });
    expect(await sent()).toEqual(noMoreThan(1, jsonBytes(compaction)));
    run.continueAsNew();
    run.steps(1);
    expect(await sent()).toEqual(noMoreThan(2, RESULT_CHARS + 200));
  });

  it('is the summary and the events after it if the older part was summarized', async () => {
    run.record([{ type: 'message', role: 'user', content: 'So far.' }], { compaction: { summarized: { head: 0, tail: 91 } } });
    run.steps(1);
    expect(await sent()).toEqual(noMoreThan(3, RESULT_CHARS + 200));
  });

  it('includes which message a guardrail has blocked: the process has it in its window', async () => {
    run.record([{ type: 'message', role: 'user', content: 'a blocked message' }]);
    await run.readBy(cache);
    run.record([], { guardrails: { findings: [], blocked: [run.window.through - 1] } });
    run.record([{ type: 'message', role: 'user', content: 'the next message' }]);
    const { window, answers } = await run.readBy(cache);
    expect(answers).toMatchObject([{ type: 'events', total: 2 }]);
    expect(JSON.stringify(window.events)).not.toContain('a blocked message');
    expect(window).toEqual(run.window);
  });

  it('is the window if the run has continued as new since a compaction: the window is smaller than the record', async () => {
    run.steps(1);
    run.record([], { compaction: { evicted: evictedPlaces(45) } });
    run.steps(1);
    run.continueAsNew();
    const { window, answers } = await run.readBy(cache);
    expect(window).toEqual(run.window);
    expect(answers).toMatchObject([{ type: 'window', total: run.window.events.length }]);
    expect(transferred(answers).bytes).toBeLessThan(run.window.bytes * 1.5);
  });

  it.each([null, 101])('is the window if its next event is a carried summary: tail %s', async (tail) => {
    run.steps(1);
    await run.readBy(cache);
    run.record([{ type: 'message', role: 'user', content: 'So far.' }], { compaction: { summarized: { head: 0, tail } } });
    run.continueAsNew();
    const { window, answers } = await run.readBy(cache);
    expect(window).toEqual(run.window);
    expect(answers).toMatchObject([{ type: 'window' }]);
  });

  /** The number of events and bytes that the cache receives for the run's window, which it has afterwards. */
  async function sent(): Promise<{ events: number; bytes: number }> {
    const { window, answers } = await run.readBy(cache);
    expect(window).toEqual(run.window);
    expect(answers).toMatchObject([{ type: 'events' }]);
    const { events, bytes } = transferred(answers);
    return { events: events.length, bytes };
  }

  /** This many events, each with little more than the bytes that it takes in the window. */
  function noMoreThan(events: number, bytes: number): object {
    const most = bytes + ENVELOPE_BYTES + BESIDE_CONTENT_BYTES * events;
    return { events, bytes: expect.toSatisfy((actual: number) => actual > bytes && actual <= most, `above ${bytes}, at most ${most}`) };
  }

  /** The oldest results of the run. */
  function evictedPlaces(count: number): [offset: number, index: number][] {
    return Array.from({ length: count }, (_, step) => [2 * (step + 1), 0]);
  }
});
