import type { JsonValue } from '../../src/core/domain/json.ts';
import { unless } from '../processes/command.ts';
import { difference, OF_ONE_RUN } from './checks.ts';
import { CONTINUE, CONTINUED } from './points/points.ts';
import type { Pass, CrashTestbed } from './processes/crash-testbed.ts';
import { type Subject, type Disturbance, killIdle } from './subject.ts';
import { answerTo, effectOf, FIRST, OUTAGES, RETURNING, SECOND, STEADFAST } from './outages.ts';
import { retryWhileDown, callerOf } from './runs/run-on-server.ts';
import { closeSession, type HeldSession, holdToEnd, type RecordOfSession } from './session/session-run.ts';

/** The parts of a record that are equal in all runs, as JSON. */
interface PlainFallback {
  result: JsonValue;
  events: JsonValue;
  answers: JsonValue;
}

/** Attempts that were lost with their worker count in the usage. */
const OF_ONE_SESSION = new Set([...OF_ONE_RUN, 'usage', 'estimated']);

function plainFallback({ result, events, answers }: FallbackRecord): PlainFallback {
  const withoutIds = (key: string, value: unknown): unknown => (OF_ONE_SESSION.has(key) ? undefined : value);
  const plain = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value, withoutIds)) as JsonValue;
  return { result: plain(result), events: plain(events.filter(({ failed }) => failed === undefined)), answers };
}

/**
 * The problems that every session may have. Each turn begins with the first model. Once the second one has answered, the rest of the turn is its, or the
 * first one is asked again with the next call.
 */
function sessionProblems({ result, answers, effects, executions }: FallbackRecord): string[] {
  const last = result.agentName === RETURNING ? undefined : SECOND;
  const { steps = [], status } = result;
  const expected = OUTAGES.flatMap(({ code }) => [
    { answeredBy: SECOND, tried: [{ model: FIRST, code }] },
    { answeredBy: last, tried: [] },
  ]);
  const told = steps.map(({ answeredBy, tried = [] }) => ({ answeredBy, tried }));
  const models = difference(expected, told);
  const said = difference(
    OUTAGES.map(({ message }) => answerTo(message)),
    answers,
  );
  const times = (name: string): number => effects.filter(({ effect }) => effect === name).length;
  return [
    ...unless(status === 'completed', `it ended with status ${status}: ${result.error ?? result.stopReason}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(models === undefined, `other models have answered:\n${models}`),
    ...unless(said === undefined, `the answers are others:\n${said}`),
    ...OUTAGES.flatMap(({ message }) =>
      unless(times(effectOf(message)) === 1, `"${effectOf(message)}" was done with ${times(effectOf(message))} idempotency keys`),
    ),
  ];
}

function recordProblems(undisturbed: PlainFallback, record: FallbackRecord): string[] {
  const actual = plainFallback(record);
  const parts = Object.keys(actual) as (keyof PlainFallback)[];
  const others = parts.flatMap((part) => {
    const changes = difference(undisturbed[part], actual[part]);
    return changes === undefined ? [] : [`"${part}" differs:\n${changes}`];
  });
  return [...others, ...sessionProblems(record)];
}

/** The moments between the two models: one for each failure, and one for a change of the execution. */
const isBetween = (point: string): boolean => point.startsWith('between ');

/** All moments between two models for workers, and every eighth for servers. */
function sampleOfFallback(points: readonly string[], pass: Pass): string[] {
  const between = points.filter(isBetween);
  if (pass === 'server') return between.filter((_, index) => index % 8 === 1);
  return points.filter((point) => isBetween(point) || point === CONTINUE || point === CONTINUED);
}

type FallbackSubject = Subject<FallbackRecord, PlainFallback>;

/** A session with a turn for each failure of its first model: its second one is called in the same attempt. */
const ofTurns: FallbackSubject = {
  name: 'fallback',
  eventsOfExecution: 300,
  heartbeatMs: 800,
  run: holdThroughOutages(STEADFAST),
  plain: plainFallback,
  undisturbedProblems: (record, points) => [
    ...unless(record.kills === 0, `a process was killed ${record.kills} times`),
    ...unless(points.filter(isBetween).length === OUTAGES.length, `${points.filter(isBetween).length} of its calls moved on`),
    ...record.asks.filter(({ times }) => times > 1).map(({ told, times }) => `the answer at "${told}" was asked for ${times} times`),
    ...sessionProblems(record),
  ],
  pointProblems: (undisturbed, { pass }, record) => [
    ...unless(record.kills === 1, `the ${pass} was killed ${record.kills} times, where it should die once, at this point`),
    ...recordProblems(undisturbed, record),
    ...record.asks
      .filter(({ told, times, inFlight }) => times > 1 + Math.max(inFlight ? 1 : 0, record.givenUp.get(told) ?? 0))
      .map(({ told, times }) => `the second model was asked ${times} times at "${told}"`),
  ],
  randomProblems: (undisturbed, record) => [
    ...recordProblems(undisturbed, record),
    ...record.asks
      .filter(({ times }) => times > 1 + record.kills)
      .map(({ told, times }) => `the second model was asked ${times} times at "${told}" after ${record.kills} kills`),
  ],
  isSlow: (point) => /(before|after) resolveAgent/.test(point) || point.endsWith('query data'),
  sample: sampleOfFallback,
};

/** The same with an agent that returns to its first model with the next turn, and with an agent that returns with the next call. */
export const fallbackSubjects: readonly FallbackSubject[] = [
  ofTurns,
  { ...ofTurns, name: 'fallback-by-call', run: holdThroughOutages(RETURNING) },
];

/** The data about the session after its end. */
interface FallbackRecord extends RecordOfSession {
  /** The answers, in the order of the messages. */
  answers: string[];
}

/** Returns the function that holds a session with an agent whose first model fails in another way in each turn. It throws if that does not end. */
function holdThroughOutages(agent: string): (testbed: CrashTestbed, runId: string, disturbance: Disturbance) => Promise<FallbackRecord> {
  return async (testbed, runId, disturbance) => {
    const { client, taskQueue } = testbed;
    const limits = { turns: OUTAGES.length, totalTokens: 1_000_000 };
    const session = client.session(agent, { id: runId, taskQueue, limits, ...callerOf(testbed, runId) });
    const { said: answers, ...record } = await holdToEnd(testbed, { session, disturbance }, converse);
    return { ...record, answers };
  };
}

async function converse(held: HeldSession): Promise<string[]> {
  const { testbed, session, disturbance, deadline } = held;
  const answers: string[] = [];
  for (const { message } of OUTAGES) {
    const { output } = await retryWhileDown(`Message ${message}`, deadline, () => session.ask(message, { id: message }));
    answers.push(typeof output === 'string' ? output : JSON.stringify(output));
    if (answers.length === 1) await killIdle(testbed, session.id, disturbance);
  }
  await closeSession(held);
  return answers;
}
