import type { Pass } from '../processes/crash-testbed.ts';
import { isCallInside, isStored } from '../points/points.ts';
import type { Subject, Hit } from '../subject.ts';
import {
  ATTENDANT,
  BURSTING_ATTENDANT,
  FORGETS,
  REMEMBERS,
  answerTo,
  EFFECTS,
  FORGOTTEN_KEY,
  INTERRUPTED,
  KEPT_KEY,
  MESSAGES,
} from './conversation.ts';
import { type SessionRecord, holdSession } from './session-run.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { OF_ONE_RUN, asksOver, hitProblems, partsThatDiffer, randomAsks } from '../checks.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { unless } from '../../processes/command.ts';

/** The points that every sample has: a session wakes, sleeps, switches, is refreshed, closed, and changes its memory. */
export const NAMED_POINTS: readonly string[] = [
  'update send m3',
  'asleep',
  'continue-as-new',
  'continued',
  'update refresh',
  `before remember ${REMEMBERS}`,
  `after remember ${REMEMBERS}`,
  `after forget ${FORGETS}`,
  'update close',
];

/** Every fourth of the other points for workers, and every eighth for servers. All of them take some minutes. */
export function sampleOfSession(points: readonly string[], pass: Pass): string[] {
  const isOther = (point: string): boolean => !NAMED_POINTS.includes(point);
  const others = new Set(points.filter(isOther).filter((_, index) => index % (pass === 'worker' ? 4 : 8) === 1));
  return points.filter((point) => others.has(point) || !isOther(point));
}

/** The run of a session of several turns. */
export const sessionSubject: Subject<SessionRecord, PlainSession> = {
  name: 'session',
  eventsOfExecution: 45,
  heartbeatMs: 800,
  run: (...given) => holdSession(ATTENDANT, ...given),
  plain: plainSession,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => /(before|after) (resolveAgent|notifyWaiting|authorizeDecision)/.test(point) || point.endsWith('query data'),
  sample: sampleOfSession,
};

/** The same session in bursts. */
export const burstSessionSubject: Subject<SessionRecord, PlainSession> = {
  ...sessionSubject,
  name: 'burst-session',
  eventsOfExecution: 40,
  run: (...given) => holdSession(BURSTING_ATTENDANT, ...given),
  // Whether a due heartbeat stores something depends on the time that a burst has taken.
  sample: (points, pass) =>
    sampleOfSession(
      points.filter((point, index) => !isStored(point) || isCallInside(points[index + 1])),
      pass,
    ),
};

/** The parts of a record that are equal in all runs of the session, as JSON. */
interface PlainSession {
  result: JsonValue;
  events: JsonValue;
  turns: JsonValue;
  answeredIn: JsonValue;
  refusal: JsonValue;
  /** The effects of tools, by name. */
  effects: string[];
  /** The keys of the entries in the memory. */
  memory: string[];
}

/** Further fields that differ: the request that was aborted counts in the usage, unless it was lost with its worker. Their sums are checked. */
const OF_ONE_SESSION = new Set([...OF_ONE_RUN, 'usage', 'estimated']);

/** A record without the parts that differ between runs. */
export function plainSession({ result, events, turns, answeredIn, refusal, effects, memory }: SessionRecord): PlainSession {
  return {
    result: plain(result),
    events: plain(events.filter((event) => !isAborted(event))),
    turns: plain(turns),
    answeredIn: plain(answeredIn),
    refusal,
    effects: effects.map(({ effect }) => effect).toSorted(),
    memory,
  };
}

/** True for the event of a request that was aborted before it had a part of its answer, or that was lost with its worker meanwhile. */
function isAborted({ interrupted, failed, content }: Event): boolean {
  return failed !== undefined || (interrupted === true && content.length === 0);
}

/** The time when an entry of the memory was stored, in the text that the model gets. */
const STORED_AT = /"when":"[^"]*"/g;

function plain(value: unknown): JsonValue {
  const withoutIds = (key: string, field: unknown): unknown => {
    if (OF_ONE_SESSION.has(key)) return undefined;
    return typeof field === 'string' ? field.replaceAll(STORED_AT, '"when":""') : field;
  };
  return JSON.parse(JSON.stringify(value, withoutIds)) as JsonValue;
}

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
