import { beforeEach, describe, expect, it } from 'vitest';
import { type FetchTranscript, TranscriptCache, type TranscriptReference } from '../../../activities/run-queries/transcript.ts';
import type { ContentItem, ToolResult } from '../../../src/core/domain/content/content.ts';
import { jsonBytes } from '../../../src/core/domain/json/payload-limit.ts';
import type { Window } from '../../../src/core/domain/record/window.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../src/core/loop/state/continue-as-new-state.ts';
import { newRunState, recordEvent, type RunState } from '../../../src/core/loop/state/run-state.ts';
import type { TranscriptAnswer } from '../../../src/core/protocol.ts';
import { transcriptPage } from '../../../src/core/queries/transcript-page.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

/** What an answer says beside its events. */
const ENVELOPE_BYTES = 200;
/** Id, author and the names of fields. */
const BESIDE_CONTENT_BYTES = 100;
const RESULT_CHARS = 2_000;

/** A run whose query is counted: what it answers is what crosses the network. */
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

  /** Calls a tool and records its result, so many times. */
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
    const carry = toContinueAsNewState(this.#state, position, { executions: this.#execution, inbox });
    this.#execution += 1;
    this.#state = fromContinueAsNewState(JSON.parse(JSON.stringify(carry))).state;
  }

  /** The conversation as an activity of this run gets it, and the answers that this took. */
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

/** Bytes of all answers, and of the events that they hold. */
function transferred(answers: TranscriptAnswer[]): { bytes: number; events: string[] } {
  return { bytes: jsonBytes(answers), events: answers.flatMap(({ events }) => events.map(({ id }) => id)) };
}

describe('what a cache lacks of a conversation', () => {
  let run: CountedRun;
  let cache: TranscriptCache;

  beforeEach(async () => {
    run = new CountedRun().steps(50);
    cache = new TranscriptCache(10_000_000);
    await run.readBy(cache);
  });

  it('is all of it once, in a process that has not seen the run', async () => {
    const { window, answers } = await run.readBy(new TranscriptCache(10_000_000));
    expect(window).toEqual(run.window);
    expect(transferred(answers).events).toHaveLength(101);
  });

  it('is nothing where the process has seen the last event', async () => {
    expect((await run.readBy(cache)).answers).toEqual([]);
  });

  it.each([1, 2, 5, 20])('is transferred and nothing else: %i steps', async (steps) => {
    const before = run.window;
    run.steps(steps);
    expect(await sent()).toEqual(noMoreThan(2 * steps, run.window.bytes - before.bytes));
  });

  it('is transferred and nothing else after the run has continued as new, whatever side of the switch it was recorded on', async () => {
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

  it('is nothing right after a switch', async () => {
    run.continueAsNew();
    expect((await run.readBy(cache)).answers).toEqual([]);
  });

  it('is the compaction alone where results were evicted: what stays is known', async () => {
    const compaction = { evicted: evictedPlaces(40) };
    run.record([], { compaction });
    expect(await sent()).toEqual(noMoreThan(1, jsonBytes(compaction)));
    run.continueAsNew();
    run.steps(1);
    expect(await sent()).toEqual(noMoreThan(2, RESULT_CHARS + 200));
  });

  it('is the summary and what came after it where the older part was summarised', async () => {
    run.record([{ type: 'message', role: 'user', content: 'So far.' }], { compaction: { summarised: { head: 0, tail: 91 } } });
    run.steps(1);
    expect(await sent()).toEqual(noMoreThan(3, RESULT_CHARS + 200));
  });

  it('is the window where the run has continued as new since a compaction: it is smaller than what was recorded', async () => {
    run.steps(1);
    run.record([], { compaction: { evicted: evictedPlaces(45) } });
    run.steps(1);
    run.continueAsNew();
    const { window, answers } = await run.readBy(cache);
    expect(window).toEqual(run.window);
    expect(answers).toMatchObject([{ type: 'window', total: run.window.events.length }]);
    expect(transferred(answers).bytes).toBeLessThan(run.window.bytes * 1.5);
  });

  it.each([null, 101])('is the window where its next event is a summary that the run has carried on: tail %s', async (tail) => {
    run.steps(1);
    await run.readBy(cache);
    run.record([{ type: 'message', role: 'user', content: 'So far.' }], { compaction: { summarised: { head: 0, tail } } });
    run.continueAsNew();
    const { window, answers } = await run.readBy(cache);
    expect(window).toEqual(run.window);
    expect(answers).toMatchObject([{ type: 'window' }]);
  });

  /** What the cache is sent in order to have the run's window, which it has then: how many events, and bytes. */
  async function sent(): Promise<{ events: number; bytes: number }> {
    const { window, answers } = await run.readBy(cache);
    expect(window).toEqual(run.window);
    expect(answers).toMatchObject([{ type: 'events' }]);
    const { events, bytes } = transferred(answers);
    return { events: events.length, bytes };
  }

  /** So many events, in hardly more bytes than they take in the window. */
  function noMoreThan(events: number, bytes: number): object {
    const most = bytes + ENVELOPE_BYTES + BESIDE_CONTENT_BYTES * events;
    return { events, bytes: expect.toSatisfy((actual: number) => actual > bytes && actual <= most, `above ${bytes}, at most ${most}`) };
  }

  /** The oldest results of the run. */
  function evictedPlaces(count: number): [offset: number, index: number][] {
    return Array.from({ length: count }, (_, step) => [2 * (step + 1), 0]);
  }
});
