import { expect, test } from 'vitest';
import { newStep, newToolCallRecord } from '../../src/core/domain/record/step.ts';
import { newRunState } from '../../src/core/loop/state/run-state.ts';
import { currentDetails } from '../../workflows/visibility/current-details.ts';
import { testSnapshot } from '../core/loop/fakes/snapshot.ts';

const AT = '2023-11-14T22:13:20.000Z';

test('the details name the newest verified calls, with the reasons', () => {
  const state = newRunState(
    { runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: Date.parse(AT) },
    { now: () => Date.parse(AT), uuid: () => 'e0' },
  );
  const verified = { happened: false, reason: 'its worker gave no answer' };
  state.steps = [1, 2, 3, 4].map((step) => ({
    ...newStep(step),
    toolCalls: [newToolCallRecord('look', 'l', AT), { ...newToolCallRecord('pay', 'p', AT), verified }],
  }));
  const lines = currentDetails(state, { agentName: 'agent', missing: [] })
    .split('\n')
    .filter((line) => line.includes('verified'));
  expect(lines).toEqual(
    [2, 3, 4].map((step) => `- **pay** of step ${step} verified: it did not happen (its answer was lost: its worker gave no answer)`),
  );
});
