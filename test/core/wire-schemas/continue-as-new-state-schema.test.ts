import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/domain/json/json.ts';
import {
  STATE_VERSION,
  fromContinueAsNewState,
  type ContinueAsNewState,
  toContinueAsNewState,
} from '../../../src/core/loop/state/continue-as-new-state.ts';
import { newRunState } from '../../../src/core/loop/state/run-state.ts';
import { checkContinueAsNewState } from '../../../src/core/wire-schemas/carry/continue-as-new-state-schema.ts';
import { call } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';

const CLOCK = { now: () => 1_700_000_000_000, uuid: () => 'event-1' };
const SURROUNDINGS = { deps: { user: 7 }, executions: 3, inbox: { messages: [], seen: ['m1'], paused: true, cancelReason: 'too slow' } };

/** A carried state with every field. */
function fullCarry(): ContinueAsNewState {
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
    notArchived: [{ from: 0, through: 8, message: 'gone' }],
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

function problemOf(value: unknown, ...migrations: Parameters<typeof checkContinueAsNewState>[1][]): string {
  const checked = checkContinueAsNewState(value, ...migrations);
  return checked.ok ? 'fits' : checked.problem;
}

describe('a carried state', () => {
  it('survives JSON with all data of the run', () => {
    const carry = fullCarry();
    const checked = checkContinueAsNewState(throughJson(carry));
    expect(checked).toEqual({ ok: true, carry });
    const { state, position } = fromContinueAsNewState(checked.ok ? checked.carry : carry);
    expect(state).toMatchObject({
      runId: 'run-1',
      thought: 'so far',
      measured: { tokens: 7, bytes: 100 },
      resultIds: ['r1'],
      carriedEventId: 'event-1',
      lastError: 'too slow',
      notArchived: [{ from: 0, through: 8, message: 'gone' }],
      limits: { steps: 10, totalTokens: 500 },
      approvals: { decided: [{ id: 'd1' }], approved: [{ callId: 'c1', arguments: { n: 1 } }] },
    });
    expect([...state.toolCallsStarted]).toEqual([['t', 1]]);
    expect([...state.toolCallsByName]).toEqual([['__proto__', 2]]);
    expect(toContinueAsNewState(state, position, SURROUNDINGS)).toEqual(carry);
  });

  it('holds the last text of the run once, in its last step or before', () => {
    const { state, position } = fromContinueAsNewState(fullCarry());
    expect(state.lastStep?.thought).toBeNull();
    state.lastStep = { thought: 'so far', final: true };
    const carry = toContinueAsNewState(state, position, SURROUNDINGS);
    expect(JSON.stringify(carry).split('so far')).toHaveLength(2);
    expect(fromContinueAsNewState(carry).state).toMatchObject({ thought: 'so far', lastStep: { thought: 'so far', final: true } });
  });

  it('of a worker that did not record archive failures is that of a run without failures', () => {
    const { notArchived: _, ...carry } = fullCarry();
    const checked = checkContinueAsNewState(throughJson(carry));
    expect(checked).toEqual({ ok: true, carry });
    expect(fromContinueAsNewState(carry).state.notArchived).toBeUndefined();
  });

  it('holds the content of a response once, because the window has it already', () => {
    const carry = fullCarry();
    expect(carry.position).not.toHaveProperty('response.content');
    expect(carry.position).not.toHaveProperty('response.providerItems');
    expect(fromContinueAsNewState(carry).position).toMatchObject({ response: { content: [{ toolCallId: 'c1' }, { toolCallId: 'c2' }] } });
  });

  it('may have fields that this version does not know', () => {
    const carry = { ...throughJson(fullCarry()), later: { x: 1 } };
    expect(checkContinueAsNewState(carry)).toEqual({ ok: true, carry });
  });

  it.each([
    ['seenEvents', 'missing required field "seenEvents"'],
    ['window', 'missing required field "window"'],
    ['inbox', 'missing required field "inbox"'],
  ])('without "%s" is refused, and the error names the field', (field, problem) => {
    const { [field]: _, ...carry } = throughJson(fullCarry());
    expect(problemOf(carry)).toBe(problem);
  });

  it.each([
    [{ position: { type: 'sleep' } }, 'position'],
    [
      { window: { events: [{ offset: 0, id: 'e', author: 'a', content: [] }], through: 1, lastEventId: 'e', bytes: 2 } },
      'window.events[0].content',
    ],
    [{ currentStep: -1 }, 'currentStep'],
    [{ inbox: { messages: [], seen: [7], paused: false } }, 'inbox.seen[0]'],
    [{ approvals: { pending: [], approved: [], decided: [], remembered: 7 } }, 'approvals.remembered'],
    [{ limits: { steps: 'many' } }, 'limits.steps'],
    [{ runId: '' }, 'runId'],
  ])('with %j is refused, and the error gives the path', (changes, path) => {
    expect(problemOf({ ...throughJson(fullCarry()), ...changes })).toContain(path);
  });
});

describe('the version of a carried state', () => {
  it.each([[undefined], [null], ['carry'], [[]], [{}], [{ version: '1' }]])('is required: %j is refused', (value) => {
    expect(problemOf(value)).toBe('the carried state of the run has no version');
  });

  it.each([STATE_VERSION + 1, 0, -1, 0.5])('%d is refused if it is unknown, with the remedy', (version) => {
    expect(problemOf({ ...throughJson(fullCarry()), version })).toBe(
      `the carried state of the run has version ${version}, and this worker reads version ${STATE_VERSION}: run it on a worker of the release that wrote it, or a newer one`,
    );
  });

  it('may be older: each migration makes the next version', () => {
    const { seenEvents, outputRetries: _, ...carry } = throughJson(fullCarry());
    const oldest = { ...carry, version: STATE_VERSION - 2, seen: seenEvents };
    const checked = checkContinueAsNewState(oldest, {
      [STATE_VERSION - 2]: ({ seen = null, ...rest }) => ({ ...rest, seenEvents: seen }),
      [STATE_VERSION - 1]: (before) => ({ ...before, outputRetries: 0 }),
    });
    expect(checked).toEqual({ ok: true, carry: fullCarry() });
  });

  it('is refused if a migration is missing, fails, or returns another version', () => {
    const carry = { ...throughJson(fullCarry()), version: STATE_VERSION - 2 };
    const keep = (before: JsonObject): JsonObject => before;
    const fail = (): JsonObject => {
      throw new TypeError('no such field');
    };
    expect(problemOf(carry, { [STATE_VERSION - 2]: keep })).toContain(`has version ${STATE_VERSION - 2}`);
    expect(problemOf(carry, { [STATE_VERSION - 2]: keep, [STATE_VERSION - 1]: fail })).toBe(
      `the carried state of the run cannot be read as version ${STATE_VERSION}: no such field`,
    );
    expect(problemOf(carry, { [STATE_VERSION - 2]: keep, [STATE_VERSION - 1]: () => ({}) })).toContain('missing required field "runId"');
  });
});
