import { unless } from '../../processes/check.ts';
import { asksOver, hitProblems, partsThatDiffer, randomAsks } from '../checks/hit-problems.ts';
import type { Hit } from '../subject.ts';
import type { ErrandRecord } from './errand-record.ts';
import { errand, KEPT } from './errand.ts';
import { type PlainErrand, plainErrand } from './plain-errand.ts';
import { stepsWithoutPoint } from './step-points.ts';

/** The problems with the undisturbed run, the reference for all others. Every step must have a point where runs are hit. */
export function undisturbedProblems(record: ErrandRecord, points: readonly string[]): string[] {
  const { result, executions, kills } = record;
  const lost = stepsWithoutPoint(errand(() => undefined).document, points);
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...waitProblems(record),
    ...unless(lost.length === 0, `it has no point in these steps: ${lost.join(', ')}`),
    ...asksOver(record, () => 1),
    ...effectProblems(record),
    ...memoryProblems(record),
  ];
}

/**
 * The problems with a run that was hit at a point: only a model call that was in flight at the kill may have been made again, and one
 * that the server has given up meanwhile, because a busy machine has delayed its heartbeats.
 */
export function pointProblems(undisturbed: PlainErrand, hit: Hit, record: ErrandRecord): string[] {
  return [...hitProblems(hit, record), ...recordProblems(undisturbed, record)];
}

/** The problems with a run that was hit at random: each kill may make one more model call necessary. */
export function randomProblems(undisturbed: PlainErrand, record: ErrandRecord): string[] {
  return [...recordProblems(undisturbed, record), ...randomAsks(record)];
}

function recordProblems(undisturbed: PlainErrand, record: ErrandRecord): string[] {
  return [
    ...partsThatDiffer(undisturbed, plainErrand(record)),
    ...waitProblems(record),
    ...effectProblems(record),
    ...memoryProblems(record),
  ];
}

function waitProblems({ waiting: { status, waitingFor } }: ErrandRecord): string[] {
  return unless(
    status === 'pending_confirmation' && waitingFor.join(', ') === 'work.Who',
    `while it waited for the answer, it said that it is ${status} and waits for: ${waitingFor.join(', ') || 'nothing'}`,
  );
}

/** Each effect must have happened once: with one idempotency key. */
function effectProblems({ effects }: ErrandRecord): string[] {
  const names = [...new Set(effects.map(({ effect }) => effect))];
  return names.flatMap((name) => {
    const keys = effects.filter(({ effect }) => effect === name).map(({ key }) => key);
    return unless(keys.length === 1, `"${name}" was done with ${keys.length} idempotency keys: ${keys.join(', ')}`);
  });
}

function memoryProblems({ memory }: ErrandRecord): string[] {
  const isOnce = memory.length === 1 && memory[0]?.value === KEPT;
  return unless(isOnce, `the memory has these entries of the run: ${JSON.stringify(memory)}`);
}
