import type { Subject } from '../subject.ts';
import { type PlainSession, plainSession } from './plain-session.ts';
import { pointProblems, randomProblems, undisturbedProblems } from './session-problems.ts';
import type { SessionRecord } from './session-record.ts';
import { holdSession } from './session-run.ts';

/** The run of a session of several turns. */
export const sessionSubject: Subject<SessionRecord, PlainSession> = {
  name: 'session',
  eventsOfExecution: 45,
  heartbeatMs: 800,
  run: holdSession,
  plain: plainSession,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => /(before|after) (resolveAgent|notifyWaiting|authorizeDecision)/.test(point) || point.endsWith('query data'),
  // Every fourth of the points for workers, and every eighth for servers. All of them take some minutes.
  sample: (points, pass) => points.filter((_, index) => index % (pass === 'worker' ? 4 : 8) === 1),
};
