import { unless } from '../../processes/check.ts';
import { difference } from '../checks/difference.ts';
import type { Hit } from '../subject.ts';
import type { ErrandRecord } from './errand-record.ts';
import { errand, KEPT } from './errand.ts';
import { type PlainErrand, plainErrand } from './plain-errand.ts';
import { stepsWithoutPoint } from './step-points.ts';

/** The problems with the undisturbed run, with which all others are compared. Every step must have a point at which runs are hit. */
export function undisturbedProblems(record: ErrandRecord, points: readonly string[]): string[] {
  const { result, executions, kills, asks } = record;
  const lost = stepsWithoutPoint(errand(() => undefined).document, points);
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...waitProblems(record),
    ...unless(lost.length === 0, `it has no point in these steps: ${lost.join(', ')}`),
    ...asks.filter(({ times }) => times > 1).map(({ told, times }) => `the answer at "${told}" was asked for ${times} times`),
    ...effectProblems(record),
    ...memoryProblems(record),
  ];
}

/**
 * The problems with a run that was hit at a point: only a model call that was in flight at the kill may have been made again, and one
 * that the server has given up meanwhile, because a busy machine has delayed its heartbeats.
 */
export function pointProblems(undisturbed: PlainErrand, { pass }: Hit, record: ErrandRecord): string[] {
  return [
    ...unless(record.kills === 1, `the ${pass} was killed ${record.kills} times, where it should die once, at this point`),
    ...recordProblems(undisturbed, record),
    ...record.asks
      .filter(({ told, times, inFlight }) => times > 1 + Math.max(inFlight ? 1 : 0, record.givenUp.get(told) ?? 0))
      .map(
        ({ told, times, inFlight }) =>
          `the answer at "${told}" was asked for ${times} times, ${inFlight ? 'in' : 'not in'} flight at the kill`,
      ),
  ];
}

/** The problems with a run that was hit at random: each kill may make a model call necessary once more. */
export function randomProblems(undisturbed: PlainErrand, record: ErrandRecord): string[] {
  return [
    ...recordProblems(undisturbed, record),
    ...record.asks
      .filter(({ times }) => times > 1 + record.kills)
      .map(({ told, times }) => `the answer at "${told}" was asked for ${times} times after ${record.kills} kills`),
  ];
}

function recordProblems(undisturbed: PlainErrand, record: ErrandRecord): string[] {
  const actual = plainErrand(record);
  const parts = Object.keys(actual) as (keyof PlainErrand)[];
  const others = parts.flatMap((part) => {
    const changes = difference(undisturbed[part], actual[part]);
    return changes === undefined ? [] : [`"${part}" differs:\n${changes}`];
  });
  return [...others, ...waitProblems(record), ...effectProblems(record), ...memoryProblems(record)];
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
