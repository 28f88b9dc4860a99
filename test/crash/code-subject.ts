import { type PlainRecord, plainRecord, difference } from './checks.ts';
import { runApproved, type RunRecord } from './runs/run-approved.ts';
import type { Subject, Hit } from './subject.ts';
import { CODER, REFUND, CELLS, CHARGE, EFFECTS } from './coder.ts';
import { unless } from '../processes/command.ts';
import type { Effect } from './processes/ledger.ts';

/** The run of an agent that answers with code. */
export const codeSubject: Subject<RunRecord, PlainRecord> = {
  name: 'code',
  eventsOfExecution: 75,
  heartbeatMs: 400,
  run: (testbed, runId, disturbance) =>
    runApproved(testbed, { runId, input: { agent: CODER, input: 'Please see to the orders' }, callId: REFUND }, disturbance),
  plain: plainRecord,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => /(before|after) (resolveAgent|notifyWaiting|authorizeDecision)/.test(point),
  // Every third of the points for workers, so that each segment and each call is hit at one moment of it, and every ninth for servers.
  sample: (points, pass) => points.filter((_, index) => index % (pass === 'worker' ? 6 : 12) === 1),
};

/** The output of the last cell, which shows the values of all cells before. */
const LAST_OUTPUT = 'look_up 1,look_up 2,third 1,2,3 charge 2 refund 2 28';

/** The minimum number of points where a run of code must be hit. */
const FEWEST_POINTS = 25;

/** The problems with the undisturbed run, the reference for all others. */
function undisturbedProblems(record: RunRecord, points: readonly string[]): string[] {
  const { result, executions, kills } = record;
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(result.stepsUsed === CELLS.length + 1, `it took ${result.stepsUsed} steps`),
    ...unless(lastOutput(record).includes(LAST_OUTPUT), `its last cell gave ${lastOutput(record)}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...unless(points.filter((point) => point.includes('runCode')).length >= FEWEST_POINTS, 'it has too few points in its code'),
    ...waitProblems(record),
    ...effectProblems(record.effects),
  ];
}

/** The problems with a run that was hit at a point. A call that must happen once may have another outcome, which the code prints. */
function pointProblems(undisturbed: PlainRecord, { pass, point }: Hit, record: RunRecord): string[] {
  const isUnclear = pass === 'worker' && point.endsWith(` ${CHARGE}`);
  return [
    ...unless(record.kills === 1, `the ${pass} was killed ${record.kills} times, where it should die once, at this point`),
    ...(isUnclear ? [] : differences(undisturbed, record)),
    ...endProblems(record),
  ];
}

/** The problems with a run that was hit at random. */
function randomProblems(_undisturbed: PlainRecord, record: RunRecord): string[] {
  return endProblems(record);
}

function endProblems(record: RunRecord): string[] {
  const { status, error, stopReason } = record.result;
  return [
    ...unless(status === 'completed', `it ended with status ${status}: ${error ?? stopReason}`),
    ...waitProblems(record),
    ...effectProblems(record.effects),
  ];
}

function differences(undisturbed: PlainRecord, record: RunRecord): string[] {
  const actual = plainRecord(record);
  const events = difference(undisturbed.events, actual.events);
  const result = difference(undisturbed.result, actual.result);
  return [
    ...(events === undefined ? [] : [`the events are others:\n${events}`]),
    ...(result === undefined ? [] : [`the result is another:\n${result}`]),
  ];
}

/** Each effect must have happened with one key, and the `once` effect at most once. */
function effectProblems(effects: readonly Effect[]): string[] {
  const keys = (effect: string): number => effects.filter((one) => one.effect === effect).length;
  const charged = effects.filter(({ effect }) => effect === CHARGE).reduce((sum, { acts }) => sum + acts, 0);
  return [
    ...EFFECTS.flatMap((effect) => unless(keys(effect) === 1, `"${effect}" was done with ${keys(effect)} idempotency keys`)),
    ...effects.flatMap(({ effect }) => unless(keys(effect) === 1, `"${effect}" was done with ${keys(effect)} idempotency keys`)),
    ...unless(charged <= 1, `"${CHARGE}" happens once, and was done ${charged} times`),
  ];
}

function waitProblems({ waiting: { status, waitingFor } }: RunRecord): string[] {
  return unless(status === 'pending_confirmation' && waitingFor.join() === 'refund', `while it waited, it said that it is ${status}`);
}

function lastOutput({ result: { steps = [] } }: RunRecord): string {
  return steps.flatMap(({ toolCalls }) => toolCalls.filter(({ caller }) => caller === undefined)).at(-1)?.result ?? '';
}
