import { unless } from '../../processes/check.ts';
import { difference } from './difference.ts';
import { effectProblems } from './effect-problems.ts';
import { expectedRecord, textOf, type Unclear, unclearAt, type UnclearCalls } from './expectation.ts';
import type { Hit } from '../subject.ts';
import { type PlainRecord, plainRecord } from './plain-record.ts';
import { answerOf, ONCE, SCRIPT } from '../reference/reference-script.ts';
import type { RunRecord } from '../runs/run-record.ts';

/** The problems with the undisturbed run, the reference for all others. */
export function undisturbedProblems(record: RunRecord): string[] {
  const { result, executions, kills } = record;
  const everything = answerOf(SCRIPT.flat().map(({ id }) => ({ toolCallId: String(id), status: 'success' })));
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(result.stepsUsed === SCRIPT.length + 1, `it took ${result.stepsUsed} steps`),
    ...unless(difference(everything, result.output) === undefined, `it answered ${JSON.stringify(result.output)}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...waitProblems(record),
    ...effectProblems(record.effects, new Map()),
  ];
}

/** The problems with a run that was hit at a point. */
export function pointProblems(undisturbed: PlainRecord, { pass, point }: Hit, record: RunRecord): string[] {
  return [
    ...unless(record.kills === 1, `the ${pass} was killed ${record.kills} times, where it should die once, at this point`),
    ...recordProblems(undisturbed, record, unclearAt(pass, point)),
  ];
}

/** The problems with a run that was hit at random: every unclear call must have been given up by the server. */
export function randomProblems(undisturbed: PlainRecord, record: RunRecord): string[] {
  const unclear = new Map(
    Object.entries(ONCE).flatMap(([callId, { tool, verify }]): [string, Unclear][] => {
      const text = resultOf(record, callId);
      const told = (verify ? (['not happened', 'unknown'] as const) : (['unknown'] as const)).find((one) => text === textOf(one, tool));
      return told === undefined ? [] : [[callId, told]];
    }),
  );
  const lost = [...unclear.keys()].map((callId) => Object.entries(ONCE).find(([id]) => id === callId)?.[1].tool ?? '');
  return [
    ...lost.flatMap((tool) => unless(record.timedOut.includes(tool), `"${tool}" is unclear, and the server had not given it up`)),
    ...recordProblems(undisturbed, record, unclear),
  ];
}

function recordProblems(undisturbed: PlainRecord, record: RunRecord, unclear: UnclearCalls): string[] {
  const expected = expectedRecord(undisturbed, unclear);
  const actual = plainRecord(record);
  const events = difference(expected.events, actual.events);
  const result = difference(expected.result, actual.result);
  return [
    ...(events === undefined ? [] : [`the events are others:\n${events}`]),
    ...(result === undefined ? [] : [`the result is another:\n${result}`]),
    ...waitProblems(record),
    ...effectProblems(record.effects, unclear),
  ];
}

function waitProblems({ waiting: { status, waitingFor } }: RunRecord): string[] {
  const isTrue = status === 'pending_confirmation' && waitingFor.join(', ') === 'refund';
  return unless(
    isTrue,
    `while it waited for the approval, it said that it is ${status} and waits for: ${waitingFor.join(', ') || 'nothing'}`,
  );
}

/** The text that the model read as the result of a call. */
function resultOf({ events }: RunRecord, callId: string): unknown {
  const results = events.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  return results.find(({ toolCallId }) => toolCallId === callId)?.content[0];
}
