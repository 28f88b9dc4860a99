import { outputText } from '../../../src/core/domain/content.ts';
import { unless } from '../../processes/check.ts';
import { asksOver, hitProblems, partsThatDiffer, randomAsks } from '../checks/hit-problems.ts';
import type { Hit } from '../subject.ts';
import { answerTo, EFFECTS, FORGOTTEN_KEY, INTERRUPTED, KEPT_KEY, MESSAGES } from './conversation.ts';
import { type PlainSession, plainSession } from './plain-session.ts';
import type { SessionRecord } from './session-record.ts';

/** The minimum number of points where the session must be hit. */
const FEWEST_POINTS = 25;

/** The problems with the undisturbed session, the reference for all others. */
export function undisturbedProblems(record: SessionRecord, points: readonly string[]): string[] {
  const { result, executions, kills } = record;
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...unless(points.length >= FEWEST_POINTS, `it has ${points.length} points`),
    ...asksOver(record, () => 1),
    ...sessionProblems(record),
  ];
}

/** The problems with a session that was hit at a point: only a model call that was in flight at the kill may have been made again. */
export function pointProblems(undisturbed: PlainSession, hit: Hit, record: SessionRecord): string[] {
  return [...hitProblems(hit, record), ...recordProblems(undisturbed, record)];
}

/** The problems with a session that was hit at random: each kill may make one more model call necessary. */
export function randomProblems(undisturbed: PlainSession, record: SessionRecord): string[] {
  return [...recordProblems(undisturbed, record), ...randomAsks(record)];
}

function recordProblems(undisturbed: PlainSession, record: SessionRecord): string[] {
  return [...partsThatDiffer(undisturbed, plainSession(record)), ...sessionProblems(record)];
}

/** The problems that every session may have, however it was disturbed. */
function sessionProblems(record: SessionRecord): string[] {
  const { waiting, refusal, effects } = record;
  const keys = (name: string): number => effects.filter(({ effect }) => effect === name).length;
  return [
    ...messageProblems(record),
    ...turnProblems(record),
    ...unless(refusal === 'session_limit', `the message at the limit was refused with "${refusal}"`),
    ...unless(
      waiting.status === 'pending_confirmation' && waiting.waitingFor.join() === 'refund',
      `while a call waited, it said that it is ${waiting.status} and waits for: ${waiting.waitingFor.join(', ') || 'nothing'}`,
    ),
    ...memoryProblems(record),
    ...EFFECTS.flatMap((effect) => unless(keys(effect) === 1, `"${effect}" was done with ${keys(effect)} idempotency keys`)),
  ];
}

/** One of the two entries is left, and the model got the other one before it was removed. */
function memoryProblems({ memory, events }: SessionRecord): string[] {
  const recalled = events.filter(({ memory: note, content }) => note !== undefined && JSON.stringify(content).includes(FORGOTTEN_KEY));
  return [
    ...unless(memory.join() === KEPT_KEY, `the memory has these entries of the user: ${memory.join(', ') || 'none'}`),
    ...unless(recalled.length === 1, `"${FORGOTTEN_KEY}" was recalled ${recalled.length} times`),
  ];
}

/** Each message is recorded once, and answered once but for the one whose turn is interrupted. */
function messageProblems({ events }: SessionRecord): string[] {
  const texts = events.flatMap(({ content, compaction }) =>
    compaction === undefined ? content.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : [])) : [],
  );
  const count = (text: string): number => texts.filter((one) => one === text).length;
  return MESSAGES.flatMap((message) => [
    ...unless(count(message) === 1, `message "${message}" is recorded ${count(message)} times`),
    ...unless(
      count(answerTo(message)) === (message === INTERRUPTED ? 0 : 1),
      `message "${message}" is answered ${count(answerTo(message))} times`,
    ),
  ]);
}

/** The turns have the numbers of their messages, and their amounts add up to the session's. */
function turnProblems({ turns, answeredIn, result, events }: SessionRecord): string[] {
  const calls = turns.reduce((sum, { usage }) => sum + usage.llmCalls, 0);
  const tokens = turns.reduce((sum, { usage }) => sum + usage.totalTokens, 0);
  const recorded = events.filter(({ usage }) => usage !== undefined).length;
  return [
    ...unless(turns.length === MESSAGES.length, `it has ${turns.length} turns`),
    ...MESSAGES.flatMap((message, index) =>
      unless(answeredIn[message] === index + 1, `message "${message}" was answered in turn ${answeredIn[message] ?? 'none'}`),
    ),
    ...unless(
      result.usage.llmCalls === calls && recorded === calls,
      `its turns made ${calls} model calls, and it says ${result.usage.llmCalls}`,
    ),
    ...unless(result.usage.totalTokens === tokens, `its turns used ${tokens} tokens, and it says ${result.usage.totalTokens}`),
  ];
}
