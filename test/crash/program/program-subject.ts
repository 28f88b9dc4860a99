import type { Subject } from '../subject.ts';
import { pointProblems, randomProblems, undisturbedProblems } from './errand-problems.ts';
import type { ErrandRecord } from './errand-record.ts';
import { runErrand } from './errand-run.ts';
import { type PlainErrand, plainErrand } from './plain-errand.ts';
import { samplePoints } from './step-points.ts';

/** The timeout of these activities does not depend on the heartbeats of the testbed. */
const NOTICED_LATE = /(before|after) (resolve|notifyWaiting|authorizeDecision|useMemory|readResult)/;

/** The run of a program with steps of every kind. */
export const programSubject: Subject<ErrandRecord, PlainErrand> = {
  name: 'program',
  eventsOfExecution: 90,
  // A call that a busy worker seems to have lost is made again, and its answer paid twice.
  heartbeatMs: 1_500,
  run: runErrand,
  plain: plainErrand,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => NOTICED_LATE.test(point) || point.endsWith('query data'),
  sample: samplePoints,
};
