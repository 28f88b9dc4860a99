import { describe, expect, it } from 'vitest';
import type { ProgramDocument, StepDocument } from '../../../../src/core/domain/program-document.ts';
import type { WaitDeadline } from '../../../../src/core/loop/ports.ts';
import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { quietPorts } from '../../loop/fakes/quiet-ports.ts';
import { testSnapshot } from '../../loop/fakes/snapshot.ts';
import { VirtualClock } from '../mutants/virtual-clock.ts';

const NEVER = { of: 'input.none', is: {} };
const skipped: StepDocument = { name: 'Skipped', when: NEVER, ask: { prompt: 'Never.' } };

function repeated(name: string, atMost: number, steps: StepDocument[]): StepDocument {
  return { name, repeat: { until: NEVER, atMost, steps } };
}

interface Ended {
  result: RunResultFields;
  /** The summaries of the timers. */
  timers: string[];
}

/** Runs a program without effects. `cancelAfter`: the number of timers after which it is cancelled. */
async function run(steps: StepDocument[], { cancelAfter = Infinity, items = 0 } = {}): Promise<Ended> {
  const clock = new VirtualClock();
  let ids = 0;
  const stamps = { now: () => clock.now, uuid: () => `id-${++ids}` };
  const program: ProgramDocument = { version: 1, name: 'p', model: 'p/m', lenient: true, units: [{ name: 'u', steps }] };
  const input = { list: Array.from({ length: items }, (_, index) => index) };
  const state = beginProgram({ runId: 'r', snapshot: { ...testSnapshot(), program }, input, startedAt: clock.now }, stamps);
  const timers: string[] = [];
  const none = (): never => {
    throw new Error('nothing is to be called');
  };
  const until = (isMet: () => boolean, deadline?: WaitDeadline): Promise<void> => {
    if (deadline !== undefined) timers.push(deadline.summary);
    return clock.until(isMet, deadline);
  };
  const ports = {
    ...quietPorts(),
    ...stamps,
    inbox: new Inbox(),
    until,
    cancelRequested: () => timers.length >= cancelAfter,
    callModel: none,
    runTool: none,
    ask: none,
    useMemory: none,
    runChild: none,
    readEarlier: none,
    callEventId: none,
    storeOutputs: none,
    loadOutput: none,
  };
  if (state.program === undefined) throw new TypeError('The state has no program');
  let isDone = false;
  const running = runProgram(state, state.program, ports).finally(() => (isDone = true));
  const hasEnded = await clock.run(
    () => isDone,
    () => false,
    1_000,
  );
  const end = hasEnded ? await running : undefined;
  if (end?.type !== 'finished') throw new Error('The run has not ended');
  return { result: end.result, timers };
}

describe('steps that need no activity', () => {
  it('are begun in one task if they are few', async () => {
    const { result, timers } = await run([repeated('Rounds', 150, [skipped])]);
    expect(result.status).toBe('completed');
    expect(timers).toEqual([]);
  });

  it('are divided into tasks of two hundred', async () => {
    const { result, timers } = await run([{ name: 'Each', forEach: { in: 'input.list', atOnce: 2, steps: [skipped] } }], { items: 900 });
    expect(result.status).toBe('completed');
    expect(timers).toEqual(Array.from({ length: 4 }, () => 'pause after 200 steps'));
  });

  it('end with a limit if they are too many for one execution', async () => {
    const { result, timers } = await run([repeated('Outer', 10_000, [repeated('Inner', 10_000, [skipped])])]);
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit' });
    expect(timers.length).toBeGreaterThan(50);
  });

  it('stop if the run is cancelled', async () => {
    const { result, timers } = await run([repeated('Outer', 10_000, [repeated('Inner', 10_000, [skipped])])], { cancelAfter: 3 });
    expect(result.status).toBe('cancelled');
    expect(timers).toHaveLength(3);
  });
});
