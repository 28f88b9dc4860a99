import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ToolInvocation } from '../../../../src/core/loop/ports.ts';
import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/loop/state/continue-as-new-state.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import type { RunClock } from '../../../../src/core/loop/state/run-state.ts';
import type { ProgramPorts } from '../../../../src/core/program/program-run.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { defineProgram, parallel, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { quietPorts } from '../../loop/fakes/quiet-ports.ts';
import { testSnapshot, testTool } from '../../loop/fakes/snapshot.ts';

const { document } = defineProgram({
  name: 'stamps',
  units: [
    unit('all', {}, [
      parallel('Both', [
        [sleep('Nap', 10), tool('Last', 'stamp')],
        [tool('First', 'stamp'), tool('Next', 'stamp')],
      ]),
    ]),
  ],
});

/** The ports that these programs do not use. */
function portsOf(clock: RunClock, inbox: Inbox): Omit<ProgramPorts, 'runTool' | 'callEventId'> {
  return {
    ...quietPorts(),
    ...clock,
    inbox,
    callModel: () => Promise.reject(new Error('no model')),
    ask: () => Promise.reject(new Error('no model')),
    useMemory: () => Promise.reject(new Error('no memory')),
    runChild: () => Promise.reject(new Error('no child')),
    readEarlier: () => Promise.reject(new Error('no earlier run')),
    storeOutputs: () => Promise.reject(new Error('no store')),
    loadOutput: () => Promise.reject(new Error('no store')),
  };
}

/** The calls of one try of a workflow task: `napTurns` decides which step comes first, and every other id is new. */
async function callsOf(executionId: string, napTurns: number): Promise<Record<string, string>> {
  const made: ToolInvocation[] = [];
  const clock = { now: () => (turns > napTurns ? 100 : 0), uuid: () => crypto.randomUUID() };
  let turns = 0;
  const snapshot = { ...testSnapshot({ tools: [testTool('stamp', { tier: 'local' })] }), program: document };
  const state = beginProgram({ runId: 'run-1', snapshot, startedAt: 0 }, clock);
  if (state.program === undefined) throw new TypeError('The state has no program');
  const { result } = (await runProgram(state, state.program, {
    ...portsOf(clock, new Inbox()),
    callEventId: (callId) => `${executionId}:${callId}`,
    runTool: async (invocation) => {
      made.push(invocation);
      await setImmediate();
      return { type: 'result', id: crypto.randomUUID(), status: 'success', content: ['stamped'], durationMs: 1 };
    },
    until: async (isMet, deadline) => {
      const { at = Infinity } = deadline ?? {};
      while (!isMet() && clock.now() < at) {
        await setImmediate();
        turns += 1;
      }
    },
  })) as { result?: { status: string } };
  expect(result?.status).toBe('completed');
  return Object.fromEntries(made.map(({ call, eventId }) => [call.toolCallId, eventId]));
}

test('a call keeps the id of its event, and so its idempotency key, if its workflow task is lost and steps come in another order', async () => {
  const first = await callsOf('execution-1', 0);
  expect(Object.keys(first).toSorted()).toEqual(['all.First', 'all.Last', 'all.Next']);
  expect(await callsOf('execution-1', 50)).toEqual(first);
  expect(Object.values(await callsOf('execution-2', 0)).some((id) => Object.values(first).includes(id))).toBe(false);
});

const one = defineProgram({ name: 'one', units: [unit('all', {}, [tool('Stamp', 'stamp')])] });

test('a call that is left to the next execution keeps the id that it would have had in this one', async () => {
  const clock = { now: () => 0, uuid: () => crypto.randomUUID() };
  const snapshot = { ...testSnapshot({ tools: [testTool('stamp')] }), program: one.document };
  let state = beginProgram({ runId: 'run-1', snapshot, startedAt: 0 }, clock);
  const made: ToolInvocation[] = [];
  for (const executionId of ['execution-1', 'execution-2']) {
    if (state.program === undefined) throw new TypeError('The state has no program');
    const inbox = new Inbox();
    const end = await runProgram(state, state.program, {
      ...portsOf(clock, inbox),
      callEventId: (callId) => `${executionId}:${callId}`,
      continueDue: () => executionId === 'execution-1',
      runTool: (invocation) => {
        made.push(invocation);
        return Promise.resolve({ type: 'result', id: 'r', status: 'success', content: ['stamped'], durationMs: 1 });
      },
      until: async (isMet) => {
        while (!isMet()) await setImmediate();
      },
    });
    if (end.type === 'finished') break;
    const carried = toContinueAsNewState(state, end.position, { executions: 2, inbox: inbox.carried() });
    state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
  }
  expect(made.map(({ eventId }) => eventId)).toEqual(['execution-1:all.Stamp']);
});
