import { expect, test } from 'vitest';
import { agentTool, defineAgent } from '../../src/index.ts';
import type { ToolCall } from '../../src/core/domain/content.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import { noUsage } from '../../src/core/domain/usage.ts';
import { childOf } from '../../src/history/recorded-execution.ts';
import { readBack } from '../../src/history/read-run.ts';
import { newSnapshot } from '../fakes/snapshot.ts';
import { HandMade } from './hand-made.ts';

const below = defineAgent({ name: 'below', model: 'fake/m' });
const snapshot = newSnapshot({ tools: [agentTool(below)] });
const ANSWER = {
  status: 'completed',
  stopReason: 'completed',
  output: 'done',
  error: null,
  usage: noUsage(),
} as unknown as RunResultFields;

/** The tasks of one child: that saw its start, that saw its end, and that saw the delivery of the request to report its end. */
interface ChildTasks {
  started: number;
  closed: number;
  delivered: number;
  /** It had ended before the request arrived. */
  isGone?: true;
}

/** An execution that starts two agents in task 3 and continues in the next execution in task 9. Its history is full from task 4 on. */
function execution(children: ChildTasks[]): HandMade {
  const calls = children.map((_, index): ToolCall => ({
    type: 'tool_call',
    toolCallId: `c${index}`,
    name: 'below',
    arguments: { request: 'Q' },
  }));
  const made = new HandMade(snapshot, 9).model(1, { asked: 2, ended: 3 }, calls);
  const { recorded } = made;
  for (const [index, { started, closed, delivered, isGone }] of children.entries()) {
    const child = childOf(recorded, `r/below.1.${index}.x`);
    child.started = { input: undefined, scheduledIn: 3, output: undefined, task: started };
    child.closed = { input: undefined, scheduledIn: started, output: ANSWER, task: closed };
    child.told = {
      input: undefined,
      scheduledIn: started,
      task: delivered,
      ...(isGone ? { failure: new Error('gone') } : { output: undefined }),
    };
    recorded.ended.push(child.started, child.closed, child.told);
  }
  recorded.ended.sort((a, b) => (a.task ?? 0) - (b.task ?? 0));
  recorded.end = { type: 'continued', executionId: 'next' };
  recorded.decidedIn = 9;
  return made.arrival('update', 4, 'send', { id: 'm1', content: 'one' }).arrival('update', 6, 'send', { id: 'm2', content: 'two' });
}

test.each<[string, ChildTasks[]]>([
  [
    'started after the decision to continue, and one ended before it was notified',
    [
      { started: 5, closed: 7, delivered: 9, isGone: true },
      { started: 5, closed: 8, delivered: 7 },
    ],
  ],
  [
    'started after that decision, and were notified before the next message',
    [
      { started: 5, closed: 8, delivered: 6 },
      { started: 5, closed: 9, delivered: 6 },
    ],
  ],
  [
    'started in sequence, all after that decision',
    [
      { started: 5, closed: 8, delivered: 7 },
      { started: 7, closed: 8, delivered: 9, isGone: true },
    ],
  ],
  [
    'started before and after it',
    [
      { started: 4, closed: 8, delivered: 6 },
      { started: 5, closed: 8, delivered: 9 },
    ],
  ],
])('agents that an execution has left to the next have no result in it: %s', async (_, children) => {
  const { state, queued } = await readBack('r', execution(children).recorded);
  expect(state?.context.events).toHaveLength(2);
  expect(state?.steps).toEqual([]);
  expect(queued).toBe(2);
});
