import { expect, it } from 'vitest';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { emptyWindow, extendWindow } from '../../../src/core/domain/window.ts';
import type { ModelCall } from '../../../src/core/kernel/ports.ts';
import { newRunState, recordEvent, type RunState } from '../../../src/core/kernel/run-state.ts';
import { newEvents } from '../../../src/core/queries/queries.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

function newRun(): { state: RunState; record: (content: ContentItem[]) => void } {
  let ids = 0;
  const clock = { now: () => 0, uuid: () => `e${(ids += 1)}` };
  const state = newRunState({ runId: 'r', snapshot: testSnapshot(), input: 'Hello', startedAt: 0 }, clock);
  return { state, record: (content) => recordEvent(state, clock, { author: 'a', content }) };
}

/** The model call of a run that asks for all events so far. */
function callOf({ window }: RunState, more: Partial<ModelCall> = {}): ModelCall {
  return { through: window.through, lastEventId: window.lastEventId, ...more } as ModelCall;
}

function message(content: string): ContentItem[] {
  return [{ type: 'message', role: 'user', content }];
}

it('hands over the events since the last response, which lead to the window of the run', () => {
  const { state, record } = newRun();
  const first = newEvents(state, callOf(state));
  expect(first).toMatchObject({ since: 0, sinceEventId: '', digest: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect(first?.events.reduce(extendWindow, emptyWindow())).toEqual(state.window);
  state.seenEvents = state.window.through;
  const before = state.window;
  record(message('next'));
  const second = newEvents(state, callOf(state));
  expect(second).toMatchObject({ since: before.through, sinceEventId: before.lastEventId });
  expect(second?.events.reduce(extendWindow, before)).toEqual(state.window);
});

it('gives events with other content another digest, even if their ids are the same', () => {
  const digests = ['one', 'another'].map((text) => {
    const { state, record } = newRun();
    record(message(text));
    return newEvents(state, callOf(state))?.digest;
  });
  expect(new Set(digests).size).toBe(2);
});

it('hands over nothing that the process has most likely made itself, and nothing large', () => {
  const { state, record } = newRun();
  expect(newEvents(state, callOf(state, { resultIds: ['r1'] }))).toBeUndefined();
  record(message('x'.repeat(64_000)));
  expect(newEvents(state, callOf(state))).toBeUndefined();
  expect(newEvents(undefined, callOf(state))).toBeUndefined();
});
