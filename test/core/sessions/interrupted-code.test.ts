import { expect, test } from 'vitest';
import type { SegmentCall, SegmentOutcome } from '../../../src/core/capabilities/code/code-cells.ts';
import { DEFAULT_EXECUTION_LIMITS } from '../../../src/core/domain/code.ts';
import { RUN_CODE } from '../../../src/core/domain/tool-calls.ts';
import { call, called, returned, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { runFakeSession, type SessionCaller } from './fake-session.ts';

const snapshot = testSnapshot({
  code: { executor: { kind: 'quickjs', language: 'javascript', limits: DEFAULT_EXECUTION_LIMITS, allowedImports: [] }, tier: 'remote' },
  tools: [testTool('find')],
});

const says =
  (content: string): SessionCaller =>
  ({ update }) =>
    update('send', { id: content, content });

/** Runs cells: the first segment of the cell `c1` calls a tool, every other one ends its cell. */
function segment({ call: { toolCallId }, segment: index, cell }: SegmentCall): SegmentOutcome {
  const id = `segment-${cell}-${index}-${toolCallId}`;
  return toolCallId === 'c1' && index === 0
    ? { type: 'calls', id, calls: [call(`${toolCallId}.1`, 'find')], digest: 'half', durationMs: 1 }
    : { type: 'ended', id, content: ['ran'], digest: 'whole', durationMs: 1 };
}

test('a cell whose turn is interrupted between two executions is not part of the namespace of the next turn', async () => {
  const asked: SegmentCall[] = [];
  let hasFound = false;
  const session = await runFakeSession({
    snapshot,
    model: [called(call('c1', RUN_CODE, { code: 'find()' })), called(call('c2', RUN_CODE, { code: '1' })), said('done')],
    callers: [says('find it'), says('again')],
    tool: () => {
      hasFound = true;
      return returned('found');
    },
    continuesInTurn: ({ update, executions }) => {
      if (!hasFound || executions > 1) return false;
      update('interrupt', {});
      return true;
    },
    runSegment: (one) => {
      asked.push(one);
      return segment(one);
    },
  });
  expect(session.executions).toBe(2);
  expect(session.events.flatMap(({ turn }) => turn?.status ?? [])).toEqual(['cancelled', 'completed']);
  expect(asked.map(({ call: { toolCallId }, cell, after }) => [toolCallId, cell, after])).toEqual([
    ['c1', 0, undefined],
    ['c2', 0, undefined],
  ]);
  expect(session.result.toolCallsByName).toEqual({ find: 1, [RUN_CODE]: 2 });
});
