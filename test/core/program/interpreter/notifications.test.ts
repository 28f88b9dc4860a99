import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { NotifyOutcome } from '../../../../src/core/loop/ports.ts';
import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../../../../src/core/loop/state/run-state.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import type { ProgramPorts } from '../../../../src/core/program/program-run.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { defineProgram, human, parallel, unit } from '../../../../src/define/program/index.ts';
import { quietPorts } from '../../loop/fakes/quiet-ports.ts';
import { testSnapshot } from '../../loop/fakes/snapshot.ts';

const { document } = defineProgram({
  name: 'asks',
  units: [unit('all', {}, [parallel('Both', [[human('Who', 'Who?')], [human('When', 'When?')]])])],
});

/** The calls that one execution tells of: a notification completes if its call is among `told`. */
async function execute(state: RunState, { told }: { told: string[] }): Promise<{ notified: string[]; next: RunState }> {
  const notified: string[] = [];
  const ports: ProgramPorts = {
    ...quietPorts(),
    now: () => 1_800_000_000_000,
    uuid: () => crypto.randomUUID(),
    callEventId: (callId) => `execution/${callId}`,
    inbox: new Inbox(),
    notify: ({ callId }) => {
      notified.push(callId);
      return told.includes(callId) ? Promise.resolve({ type: 'notified' }) : Promise.withResolvers<NotifyOutcome>().promise;
    },
    continueDue: () => state.approvals.pending.length === 2,
    callModel: () => Promise.reject(new Error('no model')),
    runTool: () => Promise.reject(new Error('no tool')),
    ask: () => Promise.reject(new Error('no model')),
    storeOutputs: () => Promise.reject(new Error('no store')),
    loadOutput: () => Promise.reject(new Error('no store')),
    useMemory: () => Promise.reject(new Error('no memory')),
    runChild: () => Promise.reject(new Error('no child')),
    readEarlier: () => Promise.reject(new Error('no earlier run')),
    until: async (isMet) => {
      while (!isMet()) await setImmediate();
    },
  };
  if (state.program === undefined) throw new TypeError('The state has no program');
  const end = await runProgram(state, state.program, ports);
  if (end.type === 'finished') throw new Error(`It ended: ${JSON.stringify(end.result.error)}`);
  const carried = toContinueAsNewState(state, end.position, { executions: 2, inbox: ports.inbox.carried() });
  return { notified, next: fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state };
}

test('a notification that has not completed when the program continues as new is repeated by the next execution', async () => {
  const snapshot = { ...testSnapshot(), notify: true as const, program: document };
  const clock = { now: () => 1_800_000_000_000, uuid: () => crypto.randomUUID() };
  const first = await execute(beginProgram({ runId: 'run-1', snapshot, input: {}, startedAt: clock.now() }, clock), { told: ['all.Who'] });
  expect(first.notified).toEqual(['all.Who', 'all.When']);
  const second = await execute(first.next, { told: [] });
  expect(second.notified).toEqual(['all.When']);
  const third = await execute(second.next, { told: ['all.When'] });
  expect(third.notified).toEqual(['all.When']);
  expect((await execute(third.next, { told: [] })).notified).toEqual([]);
});
