import { type ExecutionOrigin, originProblem } from '../../../../src/core/input-checks.ts';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import {
  type ContinueAsNewState,
  fromContinueAsNewState,
  readContinueAsNewState,
  STATE_VERSION,
  toContinueAsNewState,
} from '../../../../src/core/kernel/continue-as-new.ts';
import { newRunState, recordEvent } from '../../../../src/core/kernel/run-state.ts';
import { call } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const CLOCK = { now: () => 1_700_000_000_000, uuid: () => 'event-1' };
const SURROUNDINGS = { deps: { user: 7 }, executions: 3, inbox: { messages: [], seen: ['m1'], paused: true, cancelReason: 'too slow' } };

/** A carried state with every field. */
function fullContinuedState(): ContinueAsNewState {
  const snapshot = testSnapshot({ tools: [testTool('t')] });
  const state = newRunState({ runId: 'run-1', snapshot, input: 'Q', startedAt: 1_699_999_998_500 }, CLOCK);
  state.window.events.push({ offset: 1, id: 'e2', author: 'a', content: [call('c1', 't'), call('c2', 't')], providerItems: ['opaque'] });
  state.window.through = 2;
  Object.assign(state, {
    lastStep: { thought: null, final: false },
    measured: { tokens: 7, bytes: 100 },
    resultIds: ['r1'],
    thought: 'so far',
    lastError: 'too slow',
    slices: { loadedSkills: ['a'], hookedCalls: { content: [] }, notArchived: [{ from: 0, through: 8, message: 'gone' }] },
    toolCallsTotal: 2,
    limits: { ...snapshot.limits, totalTokens: 500 },
  });
  state.toolCallsByName.set('__proto__', 2);
  state.toolCallsStarted.set('t', 1);
  const decided = {
    id: 'd1',
    type: 'approve' as const,
    callId: 'c1',
    toolName: 't',
    digest: 'of c1',
    by: 'ann',
    source: 'update' as const,
    at: '',
  };
  state.approvals.decided.push(decided);
  state.approvals.approved.push({ callId: 'c1', arguments: { n: 1 } });
  const response = { id: 'e2', content: [], finishReason: 'tool_calls', usage: null, providerItems: ['opaque'] };
  const outcomes = [{ type: 'result' as const, status: 'success' as const, content: ['x'], durationMs: 1, state: { k: 1 } }, null];
  return toContinueAsNewState(state, { type: 'run_tools', response, final: false, outcomes }, SURROUNDINGS);
}

function throughJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function problemOf(value: unknown): string {
  const checked = readContinueAsNewState(value);
  return checked.ok ? 'fits' : checked.problem;
}

describe('a carried state', () => {
  it('survives JSON with all data of the run', () => {
    const continuedState = fullContinuedState();
    const checked = readContinueAsNewState(throughJson(continuedState));
    expect(checked).toEqual({ ok: true, continuedState });
    const { state, position } = fromContinueAsNewState(checked.ok ? checked.continuedState : continuedState);
    expect(state).toMatchObject({
      runId: 'run-1',
      thought: 'so far',
      measured: { tokens: 7, bytes: 100 },
      resultIds: ['r1'],
      carriedEventId: 'event-1',
      lastError: 'too slow',
      slices: { loadedSkills: ['a'], notArchived: [{ from: 0, through: 8, message: 'gone' }] },
      limits: { steps: 10, totalTokens: 500 },
      approvals: { decided: [{ id: 'd1' }], approved: [{ callId: 'c1', arguments: { n: 1 } }] },
    });
    expect([...state.toolCallsStarted]).toEqual([['t', 1]]);
    expect([...state.toolCallsByName]).toEqual([['__proto__', 2]]);
    expect(toContinueAsNewState(state, position, SURROUNDINGS)).toEqual(continuedState);
  });

  it('has the slices that have a value, but none that lasts only while the run cannot continue', () => {
    expect(Object.keys(fullContinuedState().slices ?? {})).toEqual(['loadedSkills', 'notArchived']);
    const state = newRunState({ runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: 0 }, CLOCK);
    expect(toContinueAsNewState(state, { type: 'call_model', final: false }, SURROUNDINGS)).not.toHaveProperty('slices');
  });

  it('names the events since the last response that the window has no entries for, so that readers know their ids', () => {
    let events = 0;
    const clock = { now: CLOCK.now, uuid: () => `event-${events++}` };
    const state = newRunState({ runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: 0 }, clock);
    const refused = { request: 'send', id: 'm1', code: 'key_reused', message: 'sent before' };
    recordEvent(state, clock, { author: 'user', content: [], refused });
    recordEvent(state, clock, { author: 'user', content: [{ type: 'message', role: 'user', content: 'more' }] });
    recordEvent(state, clock, { author: 'user', content: [], refused });
    recordEvent(state, clock, { author: 'user', content: [], refused });
    const position = { type: 'call_model', final: false } as const;
    expect(toContinueAsNewState(state, position, SURROUNDINGS).otherIds).toEqual([
      [1, 'event-1'],
      [3, 'event-3'],
    ]);
    // The request of the last model call has named the others.
    state.seenEvents = 3;
    expect(toContinueAsNewState(state, position, SURROUNDINGS).otherIds).toEqual([[3, 'event-3']]);
    state.seenEvents = 5;
    expect(toContinueAsNewState(state, position, SURROUNDINGS)).not.toHaveProperty('otherIds');
  });

  it('holds the last text of the run once, in its last step or before', () => {
    const { state, position } = fromContinueAsNewState(fullContinuedState());
    expect(state.lastStep?.thought).toBeNull();
    state.lastStep = { thought: 'so far', final: true };
    const continuedState = toContinueAsNewState(state, position, SURROUNDINGS);
    expect(JSON.stringify(continuedState).split('so far')).toHaveLength(2);
    expect(fromContinueAsNewState(continuedState).state).toMatchObject({ thought: 'so far', lastStep: { thought: 'so far', final: true } });
  });

  it('holds the content of a response once, because the window has it already', () => {
    const continuedState = fullContinuedState();
    expect(continuedState.position).not.toHaveProperty('response.content');
    expect(continuedState.position).not.toHaveProperty('response.providerItems');
    expect(fromContinueAsNewState(continuedState).position).toMatchObject({
      response: { content: [{ toolCallId: 'c1' }, { toolCallId: 'c2' }] },
    });
  });

  it('may have fields that this version does not know', () => {
    const continuedState = { ...throughJson(fullContinuedState()), later: { x: 1 } };
    expect(readContinueAsNewState(continuedState)).toEqual({ ok: true, continuedState });
  });
});

describe('a carried state that has passed through other hands', () => {
  const changed = (slices: object, inbox: object = {}): object => {
    const state = fullContinuedState();
    return { ...state, slices: { ...state.slices, ...slices }, inbox: { ...state.inbox, ...inbox } };
  };
  const read = (value: unknown): string => {
    const checked = readContinueAsNewState(value, { isForeign: true });
    return checked.ok ? 'fits' : checked.problem;
  };

  it.each([
    ['is read if nobody has changed it', {}, {}, 'fits'],
    ['is refused if a slice has another shape', { loadedSkills: ['a', 7] }, {}, 'slice "loadedSkills" does not fit'],
    ['is refused if a slice is unknown', { wings: true }, {}, 'unknown slice "wings"'],
    ['is refused if a request has another shape', {}, { slices: { waitingChildren: 'c' } }, 'slice "waitingChildren" does not fit'],
  ])('%s', (_, slices, inbox, expected) => {
    expect(read(changed(slices, inbox))).toContain(expected);
  });

  it('is not looked at further if the execution before has passed it on', () => {
    expect(problemOf(changed({ wings: true }))).toBe('fits');
  });
});

describe('the version of a carried state', () => {
  const remedy = `and this code reads version ${STATE_VERSION}: use the release that wrote it, or a newer one`;

  it.each([[undefined], [null], ['continuedState'], [[]], [{}], [{ version: '1' }]])('is required: %j is refused', (value) => {
    expect(problemOf(value)).toBe(`the carried state of the run has no version, ${remedy}`);
  });

  it.each([STATE_VERSION + 1, 0, -1, 0.5])('%d is refused if it is unknown, with the remedy', (version) => {
    expect(problemOf({ ...throughJson(fullContinuedState()), version })).toBe(
      `the carried state of the run has version ${version}, ${remedy}`,
    );
  });
});

describe('an execution has a state from the previous one', () => {
  const continued: ExecutionOrigin = { continuedFrom: 'execution-1', attempt: 1 };

  it.each<[string, ExecutionOrigin]>([
    ['if it continues another one', continued],
    ['also if Temporal represents a missing cron schedule as an empty text', { ...continued, cronSchedule: '' }],
  ])('%s', (_, origin) => {
    expect(originProblem(origin)).toBeUndefined();
  });

  it.each<[string, ExecutionOrigin, string]>([
    ['if it is the first', { attempt: 1 }, 'this is a first execution'],
    ['if a cron schedule has started it', { ...continued, cronSchedule: '* * * * *' }, 'this one was started by a cron schedule'],
    ['if a retry policy has started it', { ...continued, attempt: 2 }, 'this one is attempt 2 of a retry policy'],
  ])('but not %s', (_, origin, problem) => {
    expect(originProblem(origin)).toBe(problem);
  });
});
