import { expect, test } from 'vitest';
import { defineProgram, tool, unit } from '../../src/define/program/index.ts';
import { callEventId } from '../../src/core/program/state/call-event-id.ts';
import type { RunToolInput, RunToolOutput } from '../../src/core/protocol.ts';
import { callKey } from '../../src/history/recorded-execution.ts';
import { readBack } from '../../src/history/read-back.ts';
import { testSnapshot, testTool } from '../core/loop/fakes/snapshot.ts';
import { HandMade } from './hand-made.ts';

const { document } = defineProgram({
  name: 'side-by-side',
  units: [unit('one', { needs: [] }, [tool('Far', 'fetch')]), unit('two', { needs: [] }, [tool('Near', 'stamp')])],
  output: ['{{one.Far}}', '{{two.Near}}'],
});
const tools = [testTool('fetch'), testTool('stamp', { tier: 'local' })];

test('the calls of a program are found by their ids: steps that run side by side may be recorded in another order than they are read', async () => {
  const { recorded } = new HandMade({ ...testSnapshot({ tools }), program: document });
  recorded.program = { program: document.name };
  delete recorded.input;
  const idOf = (callId: string): string => callEventId(recorded.executionId, callId);
  const output = (text: string): RunToolOutput => ({ id: text, content: [text], durationMs: 1 });
  const input: RunToolInput = { agentName: '', callId: 'one.Far', step: 1, at: [40, 0], eventId: idOf('one.Far') };
  const far = { input, scheduledIn: 2, output: output('fetched'), task: 3 };
  recorded.toolCalls.set(callKey(recorded, input), far);
  recorded.ended.push(far);
  recorded.localCalls.push({
    input: { seq: 2, name: 'stamp' },
    scheduledIn: 2,
    task: 2,
    output: { ...output('stamped'), eventId: idOf('two.Near') },
  });
  const { result } = await readBack('r', recorded);
  expect(result).toMatchObject({ status: 'completed', output: ['fetched', 'stamped'] });
});
