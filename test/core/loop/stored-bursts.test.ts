import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type BurstEntry, entryOf, isStoredEntry, storedEntry } from '../../../src/core/bursts/burst.ts';
import type { ToolOutcome } from '../../../src/core/kernel/ports.ts';
import { call, called, returned, said, tokens } from './fakes/fake-ports.ts';

/** Returns an entry as a burst and its run read it. */
function roundTrip(entry: BurstEntry): BurstEntry {
  const stored = JSON.parse(JSON.stringify(storedEntry(entry))) as ReturnType<typeof storedEntry>;
  expect(isStoredEntry(stored)).toBe(true);
  return entryOf(stored);
}

const resultId = 'x8dJ2n4a';
const result: ToolOutcome & { type: 'result' } = { type: 'result', status: 'success', content: ['found'], resultId, durationMs: 3 };

describe('the outcomes of a burst are read back as stored', () => {
  it.each<[what: string, outcome: Pick<BurstEntry, 'model' | 'tool'>]>([
    ['an answer', { model: said('done', { usage: tokens(10, 5) }) }],
    ['an answer that calls tools', { model: called(call('c1', 't'), call('c2', 't')) }],
    ['an answer that was cut off', { model: said('do', { finishReason: 'length' }) }],
    ['an answer whose provider reports no tokens', { model: said('done', { usage: null }) }],
    ['an answer whose tokens are more than their sum', { model: said('done', { usage: { ...tokens(10, 5), totalTokens: 20 } }) }],
    ['a model call that failed', { model: { type: 'failed', code: 'model_rate_limited', message: 'later' } }],
    ['a model call that was interrupted', { model: { type: 'cancelled' } }],
    ['a result', { tool: result }],
    ['an error', { tool: { ...result, status: 'error' } }],
    ['a result with a longer id', { tool: { ...result, resultId: 'code-1/0-x8dJ2n4a' } }],
    ['a result without an id', { tool: returned('found') }],
    ['a result that changes the run', { tool: { ...result, state: { last: 1 }, contextUpdate: [] } }],
    ['a call that never started', { tool: { ...result, durationMs: null, notRun: 'not_started' } }],
    ['a call that was cancelled', { tool: { type: 'cancelled' } }],
    ['a call that was lost', { tool: { type: 'lost', reason: 'gone' } }],
  ])('%s', (_, outcome) => {
    const entry = { at: 12, key: 't1/0', ...outcome } as BurstEntry;
    expect(roundTrip(entry)).toEqual(entry);
  });

  it('for any result', () => {
    const outcome: fc.Arbitrary<ToolOutcome> = fc.record(
      {
        type: fc.constant('result' as const),
        status: fc.constantFrom('success' as const, 'error' as const),
        content: fc.array(fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as string)),
        durationMs: fc.option(fc.nat(), { nil: null }),
        resultId: fc.string(),
        asksRetry: fc.constant(true as const),
      },
      { requiredKeys: ['type', 'status', 'content', 'durationMs'] },
    );
    fc.assert(
      fc.property(outcome, (tool) => {
        expect(roundTrip({ at: 1, key: 't1/0', tool })).toEqual({ at: 1, key: 't1/0', tool });
      }),
    );
  });
});

test.each<[what: string, entry: unknown]>([
  ['no entry', 'm1'],
  ['a cut one', [1, 'm1']],
  ['one without a time', ['m1', { id: 'a', content: [] }]],
  ['an answer without an id', [1, 'm1', { content: [] }]],
  ['an answer with milliseconds', [5, 't1/0', { content: [] }, 1, 'x8dJ2n4a']],
  ['an answer after the name of its kind', [1, 'm1', 'model', { type: 'response' }]],
  ['a result without content', [1, 't1/0', 'tool', { type: 'result', status: 'success' }]],
  ['a result without milliseconds', [1, 't1/0', ['found']]],
  ['a result that nothing distinguishes from another', [1, 't1/0', ['found'], 1]],
  ['another kind', [1, 't1/0', 'agent', { type: 'result', content: [] }]],
])('anything that no burst stores is not an entry: %s', (_, entry) => {
  expect(isStoredEntry(entry)).toBe(false);
});

test('a step of a burst is stored in less than 200 bytes in addition to its content', () => {
  const [id, toolCallId] = ['0b9a2a5e-0000-4000-8000-000000000000', 'call_000000000000000000000001'];
  const asked = call(toolCallId, 'read_page', { page: 1001 });
  const answer = called(asked);
  if (answer.type !== 'response') throw new TypeError('It is an answer');
  const model = { ...answer, response: { ...answer.response, id, usage: tokens(10_000, 20) } };
  const step: BurstEntry[] = [
    { at: 1_000, key: 'm301', model },
    { at: 1_010, key: 't302/0', tool: { ...result, durationMs: 3.11 } },
  ];
  const bytes = JSON.stringify(step.map(storedEntry)).length;
  expect(bytes - JSON.stringify([asked, result.content]).length).toBeLessThan(200);
});
