import { expect, test } from 'vitest';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { CodeJournal } from '../../../../src/core/domain/execution.ts';
import { points } from '../../../../src/core/kernel/points.ts';
import { journalOf } from '../../../../src/core/capabilities/code/code-cells.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { DEFAULT_EXECUTION_LIMITS } from '../../../../src/core/domain/code.ts';
import { testSnapshot } from '../fakes/snapshot.ts';

const before: NonNullable<AgentSnapshot['code']> = {
  executor: { kind: 'quickjs', language: 'javascript', limits: DEFAULT_EXECUTION_LIMITS, allowedImports: [] },
  tier: 'remote',
  injected: { rate: 1 },
};

const CELL = { code: 'let a = rate', moment: { now: 0, seed: 1 }, segments: [{ digest: 'd' }] };

/** The state of a run that has run a cell, and whose agent runs code in this way from now on. */
function changed(code: AgentSnapshot['code'], journal: Partial<CodeJournal> = { cells: [CELL] }): CodeJournal | undefined {
  const state = {
    snapshot: testSnapshot(code === undefined ? {} : { code }),
    slices: { code: { journal: { cells: [], ...journal }, journalBytes: 100, records: [] } },
  } as unknown as RunState;
  points.agentRefreshed(state, testSnapshot({ code: before }));
  return journalOf(state);
}

test.each([
  ['other values from the start', { ...before, injected: { rate: 2 } }],
  ['no values from the start', { executor: before.executor, tier: before.tier }],
  ['another language', { ...before, executor: { ...before.executor, kind: 'python', language: 'python' } }],
  ['other limits', { ...before, executor: { ...before.executor, limits: { ...DEFAULT_EXECUTION_LIMITS, timeoutSeconds: 1 } } }],
] as const)('cells are forgotten if code runs with %s, and the model is told', (_, code) => {
  expect(changed(code as AgentSnapshot['code'])).toEqual({ cells: [], isLost: 'agent_changed' });
});

test('cells stay if code runs as before', () => {
  expect(changed({ tier: 'remote', injected: { rate: 1 }, executor: { ...before.executor } })).toEqual({ cells: [CELL] });
});

test('a run that has run no code has nothing to forget', () => {
  expect(changed({ ...before, tier: 'local' }, {})).toEqual({ cells: [] });
});

test('an agent without code has no cells', () => {
  expect(changed(undefined)).toBeUndefined();
});
