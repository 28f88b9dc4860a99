import type { Pass } from '../pass.ts';
import { isCallInside, isStored } from '../points/points.ts';
import type { Subject } from '../subject.ts';
import { ATTENDANT, BURSTING_ATTENDANT, FORGETS, REMEMBERS } from './conversation.ts';
import { type PlainSession, plainSession } from './plain-session.ts';
import { pointProblems, randomProblems, undisturbedProblems } from './session-problems.ts';
import type { SessionRecord } from './session-record.ts';
import { holdSession } from './session-run.ts';

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
