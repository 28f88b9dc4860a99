import { type PlainRecord, plainRecord } from '../checks/plain-record.ts';
import { pointProblems, randomProblems, undisturbedProblems } from '../checks/run-problems.ts';
import { activityPoint, queryPoint } from '../points/points.ts';
import { runReference } from '../runs/run-reference.ts';
import type { RunRecord } from '../runs/run-record.ts';
import type { Subject } from '../subject.ts';

/** The time-out of these activities does not depend on the heartbeats of the testbed. The second queries the run for its data. */
const NOTICED_LATE = ['resolveAgent', 'notifyWaiting s6', 'authorizeDecision s6'];

/** The run of an agent. */
export const agentSubject: Subject<RunRecord, PlainRecord> = {
  name: 'agent',
  eventsOfExecution: 75,
  heartbeatMs: 400,
  run: runReference,
  plain: plainRecord,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) =>
    point === queryPoint('data') ||
    NOTICED_LATE.some((name) => point === activityPoint('before', name) || point === activityPoint('after', name)),
  sample: (points) => [...points],
};
