import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { joinPieces, jsonBytes, MAX_PAYLOAD_BYTES } from '../../../src/core/domain/byte-budgets.ts';
import type { StepState } from '../../../src/core/domain/program-run.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import { beginProgram } from '../../../src/core/first-start.ts';
import type { QueriedRun } from '../../../src/core/queries/run-views.ts';
import { stepValues } from '../../../src/core/queries/queries.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

const SPILLED = { store: 'files', claim: { key: 'k' }, bytes: 9, sha256: 'ab' };

/** A run of a program whose steps have these states. */
function runOf(steps: Record<string, Partial<StepState>>): QueriedRun {
  const document = { version: 1 as const, name: 'p', units: [{ name: 'u', steps: [{ name: 'A', ask: { prompt: 'a' } }] }] };
  const clock = { now: () => 1, uuid: () => 'id' };
  const state = beginProgram({ runId: 'r', snapshot: { ...testSnapshot(), program: document }, input: {}, startedAt: 1 }, clock);
  for (const [at, step] of Object.entries(steps)) {
    state.program?.steps.set(at, { kind: 'ask', status: 'completed', startedAt: 1, attempts: 1, ...step });
  }
  return { runId: 'r', agentName: 'p', deps: {}, startedAt: 1, executions: 1, inbox: new Inbox(), authorizing: new Map(), state };
}

describe('the query of an activity for outputs', () => {
  test('is answered with the value, or with the location of an output that is only in the payload store', () => {
    const run = runOf({ 'u.A': { output: 'a', spilled: SPILLED }, 'u.B': { spilled: SPILLED } });
    expect(stepValues(run, { outputs: ['u.A', 'u.B'] })).toEqual({ outputs: { 'u.A': 'a' }, spilled: { 'u.B': SPILLED } });
  });

  test('is answered with the outputs of the items of a running forEach that are not stored', () => {
    const run = runOf({ 'u.Each': { status: 'running', items: { 0: 'one', 2: 'three' } } });
    expect(stepValues(run, { outputs: ['u.Each.items'] })).toEqual({ outputs: { 'u.Each.items': { 0: 'one', 2: 'three' } } });
  });

  test('fails for an output that the run does not have', () => {
    expect(() => stepValues(runOf({ 'u.A': {} }), { outputs: ['u.A'] })).toThrow('Run "r" has no output of "u.A"');
    expect(() => stepValues(runOf({}), { piece: { address: 'u.A', from: 0 } })).toThrow('Run "r" has no output of "u.A"');
  });

  test.each<[string, JsonValue]>([
    ['a long text', 'x'.repeat(3_000_000)],
    ['a list with quotes, line ends and letters of several bytes', Array.from({ length: 300_000 }, () => '"\n\\é漢\u{1F600}')],
  ])('is answered in pieces that each fit into a payload for %s', async (_, output) => {
    const run = runOf({ 'u.A': { output }, 'u.B': { output: 'b' } });
    expect(stepValues(run, { outputs: ['u.A', 'u.B'] })).toEqual({ outputs: { 'u.B': 'b' }, long: ['u.A'] });
    const { value } = await joinPieces<never>(async (from) => {
      const answer: unknown = JSON.parse(JSON.stringify(stepValues(run, { piece: { address: 'u.A', from } })));
      expect(jsonBytes(answer)).toBeLessThan(MAX_PAYLOAD_BYTES);
      return answer as never;
    });
    expect(JSON.stringify(value) === JSON.stringify(output)).toBe(true);
  });
});
