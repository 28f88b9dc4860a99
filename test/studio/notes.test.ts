import { expect, test } from 'vitest';
import { limitsText, noteTexts } from '../../studio/notes.ts';

const textsOf = (parts: object): string[] =>
  noteTexts({ id: 'e', executionId: 'x', timestamp: '', author: 'clerk', content: [], ...parts }).map(({ text }) => text);

test('everything that an event may record is a sentence, without JSON', () => {
  const decision = { id: 'd', callId: 'c', digest: '', at: '', source: 'update', toolName: 'refund' };
  const failed = { code: 'unknown_agent', message: 'No worker has it' };
  const all: [object, string][] = [
    [
      { refused: { request: 'approve', callId: 'c', by: 'kim', code: 'not_authorized', message: 'Ask Ada' } },
      'An approval of kim was refused (not_authorized): Ask Ada',
    ],
    [{ refused: { request: 'compress', code: 'x', message: 'y' } }, '“compress” was refused (x): y'],
    [
      { raised: { limits: { steps: 2_000, toolCallsByName: { refund: 3 }, costUsd: 0.5, deadlineMs: 7_200_000 } } },
      'Limits were raised: 2,000 steps, 3 calls of refund, $0.5, a deadline 2 h after the start',
    ],
    [
      {
        permissions: {
          permissions: { mode: 'permissive', deny: [{ tool: 'refund', args: { amount: '9*' } }], ask: [{ category: 'write' }] },
        },
      },
      'Permissions were set: mode permissive; deny tool refund, amount 9*; ask category write',
    ],
    [
      { guardrails: { findings: [{ name: 'words', type: 'input', outcome: 'tripped', message: 'A bomb' }] } },
      'Guardrail “words” blocked the request: A bomb',
    ],
    [
      { guardrails: { findings: [{ name: 'words', type: 'tool_call', callId: 'c1', outcome: 'warned', message: 'Long' }] } },
      'Guardrail “words” let pass the call c1: Long',
    ],
    [{ guardrails: { findings: [] } }, 'Guardrails asked a model, and found nothing.'],
    [{ memory: { entries: 1 } }, '1 entry from the memory.'],
    [{ memory: { unavailable: 'down' } }, 'The memory was not available: down'],
    [{ failed: { code: 'model_timeout' } }, 'The model call failed: model_timeout'],
    [
      { compaction: { summarized: { head: 0, tail: null }, evicted: [[1, 0]] } },
      'The window was made smaller: earlier events were summarized, 1 result taken out',
    ],
    [
      { turn: { number: 2, status: 'max_iterations_reached', stopReason: 'step_limit' } },
      'Turn 2 ended: max iterations reached (step limit)',
    ],
    [{ turn: { number: 2, status: 'completed', stopReason: 'final_answer', error: null } }, 'Turn 2 ended: completed'],
    [{ cleared: true }, 'The conversation was emptied.'],
    [{ title: 'Lamp' }, 'The session has a title: Lamp'],
    [{ refresh: { digest: 'abc' } }, 'The agent was resolved again.'],
    [{ refresh: { failed } }, 'The agent could not be resolved again, and stays as it was (unknown_agent): No worker has it'],
    [{ interrupted: true }, 'The answer was interrupted.'],
    [{ notices: [{ code: 'cache_lost', message: 'The cache is lost' }] }, 'Notice: The cache is lost'],
    [
      {
        contextUpdates: [
          {
            callId: 'c',
            operations: [
              { op: 'append', key: 'cart', value: 'table' },
              { op: 'delete', key: 'city' },
            ],
          },
        ],
      },
      'Deps and state changed: append cart "table", delete city',
    ],
    [{ decision: { ...decision, type: 'reject', by: null, reason: 'No' } }, 'Somebody rejected refund: No'],
    [{ decision: { ...decision, type: 'approve', by: null, source: 'deadline' } }, 'The deadline approved refund'],
    [
      { decision: { ...decision, type: 'approve', by: 'kim', source: 'remembered', remember: 'tool', arguments: { a: 1 } } },
      'kim approved refund with other arguments (for every call of the tool) (as remembered)',
    ],
    [{ step: { at: 'write.Letter', kind: 'ask', type: 'end', status: 'failed', error: { message: 'No' } } }, 'write.Letter failed: No'],
  ];
  for (const [parts, text] of all) expect(textsOf(parts)).toEqual([text]);
});

test('limits without words are left out', () => {
  expect(limitsText({ steps: 5, finalAttempt: true, onLimit: 'ask', totalTokens: undefined })).toBe('5 steps');
});
