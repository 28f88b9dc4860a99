import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StreamedResult } from '../../studio/api-types.ts';
import { endingTexts } from '../../studio/ending.ts';

type Ended = Parameters<typeof endingTexts>[0];

const ended = (parts: Partial<StreamedResult>): Ended => ({
  status: 'error',
  stopReason: 'error',
  limits: { steps: 10 },
  error: null,
  ...parts,
});

test('each reason for which a run ends is a sentence, with what it is about', () => {
  const limits = { steps: 3, totalTokens: 2_000, toolCalls: 4, toolCallsByName: { refund: 1 }, costUsd: 0.5, deadlineMs: 4_000 };
  const at = (stopReason: string): string[] => endingTexts(ended({ status: 'limit_reached', stopReason, limits }));
  expect(endingTexts(ended({ status: 'completed', stopReason: 'final_answer' }))).toEqual([]);
  expect(at('step_limit')).toEqual(['It has reached its limit: 3 steps.']);
  expect(at('token_budget')).toEqual(['It has reached its limit: 2,000 tokens.']);
  expect(at('cost_budget')).toEqual(['It has reached its limit: $0.5.']);
  expect(at('tool_call_limit')).toEqual(['It has reached its limit: 4 tool calls, 1 call of refund.']);
  expect(at('deadline')).toEqual(['Its deadline has passed, 4.0 s after its start. What ran then was abandoned.']);
  const cancelled = { status: 'cancelled', stopReason: 'cancelled' } as const;
  expect(endingTexts(ended({ ...cancelled, cancelReason: 'called off (kim)' }))).toEqual(['It was cancelled. Reason: called off (kim)']);
  expect(endingTexts(ended(cancelled))).toEqual(['It was cancelled, without a reason.']);
  expect(endingTexts(ended({ status: 'completed', stopReason: 'closed' }))).toEqual(['The session was closed.']);
  expect(endingTexts(ended({ error: 'Too many', errorCode: 'model_rate_limited' }))).toEqual(['Too many (model_rate_limited)']);
  const guardrail = { name: 'words', type: 'output', message: 'A secret' };
  expect(endingTexts(ended({ stopReason: 'guardrail', error: 'A secret', errorCode: 'guardrail_tripped', guardrail }))).toEqual([
    'Guardrail “words” blocked the answer: A secret',
  ]);
});

test('a run that has failed without a message, and events that are not in the archive, are told', () => {
  const notArchived = [{ from: 3, through: 1_200, message: 'No space' }];
  expect(endingTexts(ended({ notArchived }))).toEqual([
    'It failed, and recorded no message.',
    'Events 3 to 1,200 are not in the archive: No space',
  ]);
});

test('no end of a run has an empty sentence, or one with undefined, null or JSON', () => {
  const statuses = ['completed', 'max_iterations_reached', 'limit_reached', 'error', 'cancelled'] as const;
  const reasons = [
    'final_answer',
    'step_limit',
    'token_budget',
    'cost_budget',
    'tool_call_limit',
    'deadline',
    'guardrail',
    'closed',
    'cancelled',
    'error',
  ];
  const word = fc.constantFrom('Words', 'More words');
  const result = fc.record(
    {
      status: fc.constantFrom(...statuses),
      stopReason: fc.constantFrom(...reasons, 'a_new_reason'),
      limits: fc.record(
        { steps: fc.nat(), totalTokens: fc.nat(), costUsd: fc.constant(1.5), deadlineMs: fc.nat() },
        { requiredKeys: ['steps'] },
      ),
      error: fc.option(word),
      errorCode: fc.constant('tool_failed'),
      cancelReason: word,
      guardrail: fc.record({ name: word, type: fc.constantFrom('input', 'output', 'tool_call'), message: word }),
    },
    { requiredKeys: ['status', 'stopReason', 'limits', 'error'] },
  );
  fc.assert(
    fc.property(result, (one) => {
      const texts = endingTexts(one);
      for (const text of texts) expect(text).toMatch(/^(?!.*(undefined|null|[{}[\]]|_(?!failed)))\S.*$/s);
      expect(one.status !== 'error' || texts.length > 0).toBe(true);
    }),
  );
});
