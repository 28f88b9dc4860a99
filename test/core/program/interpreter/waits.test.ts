import { expect, test } from 'vitest';
import type { ProgramDocument, StepDocument } from '../../../../src/core/domain/program-document.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import { BEGINNING } from '../../../../src/core/kernel/run-loop.ts';
import type { ProgramPorts } from '../../../../src/core/program/program-ports.ts';
import { update } from '../../loop/fakes/callers.ts';
import { FakeScheduler, quietPorts } from '../../loop/fakes/fake-ports.ts';
import { testSnapshot } from '../../loop/fakes/snapshot.ts';
import { carriedOver } from '../../loop/generated-runs/carried-over.ts';

const HOUR = 3_600_000;

/** The course of a run, with the minutes after its start at which a reviewer is asked about a `sleep` of an hour, whose first output is rejected. */
async function reviewedAt({ continues }: { continues: boolean }): Promise<{ asked: number[]; status: string; executions: number }> {
  const scheduler = new FakeScheduler();
  const startedAt = scheduler.now;
  let [ids, executions] = [0, 1];
  const clock = { now: () => scheduler.now, uuid: () => `id-${++ids}` };
  const sleep: StepDocument = { name: 'S', sleep: { for: '1h' }, review: true, refine: { maxAttempts: 2, backoff: 'linear' } };
  const program: ProgramDocument = {
    version: 1,
    name: 'p',
    units: [
      { name: 'u', needs: [], steps: [sleep] },
      {
        name: 'v',
        needs: [],
        steps: [
          { name: 'H', human: { question: 'Go on?' } },
          { name: 'Nap', sleep: { for: 1 } },
        ],
      },
    ],
  };
  let state = beginProgram({ runId: 'r', snapshot: { ...testSnapshot(), program }, input: {}, startedAt }, clock);
  let inbox = new Inbox();
  const asked: number[] = [];
  const decide = (callId: string, name: 'approve' | 'reject' | 'respond', more: object = {}): boolean => {
    const waiting = state.approvals.pending.find((one) => one.callId === callId);
    if (waiting === undefined) return false;
    update({ runId: 'r', inbox, state }, name, { callId, id: `${callId} ${name}`, digest: waiting.digest, by: 'ann', ...more });
    return true;
  };
  let looks = 0;
  scheduler.act = () => {
    // A workflow looks again by itself.
    if ((looks += 1) % 20 !== 0) return true;
    if (decide('u.S.review', 'reject')) return asked.push((scheduler.now - startedAt) / 60_000) > 0;
    if (decide('u.S.review#2', 'approve')) return asked.push((scheduler.now - startedAt) / 60_000) > 0;
    // The step at the side goes on during the back-off, and the run continues as new before it.
    if (asked.length === 1 && decide('v.H', 'respond', { content: 'yes' })) return true;
    scheduler.now += asked.length === 1 ? 1_000 : HOUR / 4;
    return looks < 50_000;
  };
  const absent = (): Promise<never> => Promise.reject(new Error('the program has none'));
  const ports = (): ProgramPorts => ({
    ...quietPorts(),
    ...clock,
    inbox,
    callEventId: (id) => `${executions}/${id}`,
    until: (isMet, deadline) => scheduler.until(isMet, deadline),
    continueDue: () => continues && executions === 1 && asked.length === 1,
    callModel: absent,
    runTool: absent,
    ask: absent,
    useMemory: absent,
    readEarlier: absent,
    storeOutputs: absent,
    loadOutput: absent,
  });
  for (;;) {
    if (state.program === undefined) throw new TypeError('The state has no program');
    const end = await runProgram(state, state.program, ports());
    if (end.type === 'finished') return { asked: asked.map(Math.round), status: end.result.status, executions };
    executions += 1;
    ({ state, inbox } = carriedOver({ state, position: BEGINNING, inbox, executions }));
  }
}

test('a `sleep` that a reviewer rejects sleeps again, also if the run continues as new in the back-off before', async () => {
  const whole = await reviewedAt({ continues: false });
  expect(whole).toMatchObject({ asked: [expect.any(Number), expect.any(Number)], status: 'completed', executions: 1 });
  const [first = 0, second = 0] = whole.asked;
  expect(second - first).toBeGreaterThanOrEqual(60);
  expect(await reviewedAt({ continues: true })).toEqual({ ...whole, executions: 2 });
});
