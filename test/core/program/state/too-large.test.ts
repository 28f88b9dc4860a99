import { expect, test } from 'vitest';
import { type StepState, tooLargeText } from '../../../../src/core/domain/program-run.ts';

const step = (more: Partial<StepState>): StepState => ({ kind: 'ask', status: 'running', startedAt: 1, attempts: 1, ...more });
const small: [string, StepState] = ['u.Small', step({ status: 'completed', output: 'small' })];

test('a program that cannot be carried names the step with the largest output', () => {
  const large: [string, StepState] = ['u.Large', step({ status: 'completed', output: 'x'.repeat(98) })];
  expect(tooLargeText({ steps: new Map([small, large]) })).toBe(
    'Later steps refer to the output of step "u.Large", which has 102 bytes: make it smaller',
  );
});

test('it names the step whose output waits for its review, if that is the largest', () => {
  const held: [string, StepState] = ['u.Held', step({ progress: { held: { output: 'x'.repeat(98), id: 'id' } } })];
  expect(tooLargeText({ steps: new Map([small, held]) })).toBe(
    'The output of step "u.Held" waits for its review, and has 100 bytes: make it smaller',
  );
});
