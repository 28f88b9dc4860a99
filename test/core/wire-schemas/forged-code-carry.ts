import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { RUN_CODE } from '../../../src/core/domain/content/tool-text.ts';
import { changedAt, waitingCarry } from './forged-carry.ts';

const FOUND = { type: 'tool_call', toolCallId: 'c1.1', name: 'search', arguments: { q: 1 } };
const PAID = { type: 'tool_call', toolCallId: 'c1.2', name: 'pay', arguments: {} };

/** The carried state of a run whose code waits for two calls, one of which needs a decision. */
export function callingCodeCarry(): JsonObject {
  const carry = coding();
  const tools = carry['position'] as JsonObject;
  const position = {
    type: 'run_tools',
    response: {
      id: 'segment-1',
      content: [FOUND, PAID],
      finishReason: 'tool_calls',
      usage: null,
      approvals: { 'c1.2': { digest: 'of c1.2' } },
    },
    final: false,
    outcomes: [{ type: 'result', status: 'success', content: ['x'], durationMs: 1, applied: true }, null],
    cell: { type: 'run_cell', tools, index: 0, spentMs: 3 },
  };
  return { ...carry, position };
}

/** The same run before the next segment of the cell. */
export function runningCodeCarry(): JsonObject {
  const carry = coding();
  return { ...carry, position: { type: 'run_cell', tools: carry['position'] ?? null, index: 0, spentMs: 3 } };
}

/** The state of a run in the middle of its second cell, with the position of the response that asked for it. */
function coding(): JsonObject {
  const limits = { timeoutSeconds: 30, maxMemoryMb: 256, maxOutputBytes: 10_000, maxSteps: 10 };
  const executor = { kind: 'quickjs', language: 'javascript', limits, allowedImports: ['math'] };
  const changes: [string, JsonValue][] = [
    ['snapshot/code', { executor, tier: 'local', prune: { strategy: 'last_steps', keep: 3 } }],
    ['window/events/1/content/1/name', RUN_CODE],
    ['window/through', 4],
    ['approvals/pending', []],
    ['inbox', { messages: [], seen: [], paused: false }],
    [
      'code',
      {
        journal: {
          checkpoint: { store: 's', claim: { key: 'k' }, bytes: 10, sha256: 'abc' },
          cells: [
            { code: 'a = 1', moment: { now: 1_700_000_000_000, seed: 7 }, segments: [{ digest: 'd0' }] },
            { code: 'pay(find())', moment: { now: 1_700_000_000_000, seed: 8 }, segments: [{ digest: 'd1' }] },
          ],
        },
        journalBytes: 300,
        calls: { offset: 3, id: 'segment-1', author: 'a', content: [FOUND, PAID] },
        records: [
          { toolName: 'search', callId: 'c0.1', arguments: {}, result: 'x', isError: false, durationMs: 1, timestamp: '', caller: 'code' },
        ],
      },
    ],
  ];
  return changes.reduce<JsonValue>(
    (carry, [path, change]) =>
      changedAt(
        carry,
        path.split('/').map((key) => (/^\d+$/.test(key) ? Number(key) : key)),
        change,
      ),
    waitingCarry(),
  ) as JsonObject;
}
