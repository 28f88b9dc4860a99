import { expect, test } from 'vitest';
import type { ToolResult } from '../../../src/core/domain/content.ts';
import { call, called, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { runFakeSession } from './fake-session.ts';

test('an interrupted turn gives results to the call that runs, to the one that waits and to the one that has not begun, and the session goes on', async () => {
  const calls = [call('c1', 'slow'), call('c2', 'asked'), call('c3', 'once')];
  const response = called(...calls);
  if (response.type !== 'response') throw new Error('no response');
  const approvals = { c2: { digest: 'of c2' } };
  const { state, events } = await runFakeSession({
    snapshot: testSnapshot({
      parallel: false,
      tools: [testTool('slow'), testTool('asked', { approval: { when: 'predicate', onDeadline: 'reject' } }), testTool('once')],
    }),
    model: [{ ...response, response: { ...response.response, approvals } }, said('B')],
    tool: (
      {
        state: {
          approvals: { pending },
        },
        update,
      },
      toolCallId,
    ) => {
      expect(toolCallId).toBe('c1');
      expect(pending.map(({ callId }) => callId)).toEqual(['c2']);
      update('interrupt', { reason: 'enough' });
      return { type: 'cancelled' };
    },
    callers: [({ update }) => update('send', { id: 'a', content: 'a' }), ({ update }) => update('send', { id: 'b', content: 'b' })],
  });
  const results = events.flatMap(({ content }) => content.filter((item): item is ToolResult => item.type === 'tool_result'));
  expect(results.map(({ toolCallId, status, content }) => [toolCallId, status, content])).toMatchInlineSnapshot(`
    [
      [
        "c1",
        "error",
        [
          "Tool call was running when the run was cancelled; its outcome is unknown.",
        ],
      ],
      [
        "c2",
        "error",
        [
          "Tool call was interrupted and not executed. Please retry if needed.",
        ],
      ],
      [
        "c3",
        "error",
        [
          "Tool call was interrupted and not executed. Please retry if needed.",
        ],
      ],
    ]
  `);
  expect(state.turns).toMatchObject([
    { turn: 1, status: 'cancelled', cancelReason: 'enough', toolCallsTotal: 1, toolCallsNotRun: { not_started: {} } },
    { turn: 2, status: 'completed', output: 'B' },
  ]);
  expect(state.approvals.pending).toEqual([]);
  const seen = state.window.events.flatMap(({ content }) =>
    content.flatMap((item) => (item.type === 'tool_result' ? item.toolCallId : [])),
  );
  expect(seen).toEqual(['c1', 'c2', 'c3']);
});
