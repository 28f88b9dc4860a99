import { type PlainRecord, plainRecord } from '../checks/plain-record.ts';
import { pointProblems, randomProblems, undisturbedProblems } from '../checks/run-problems.ts';
import { activityPoint, isCallInside, isStored, queryPoint } from '../points/points.ts';
import { runApproved } from '../runs/run-approved.ts';
import type { RunRecord } from '../runs/run-record.ts';
import { AGENT, BURSTING } from './reference-agent.ts';
import { DEPS, REFUND } from './reference-script.ts';
import type { Subject } from '../subject.ts';

/** The timeout of these activities does not depend on the heartbeats of the testbed. The second queries the run for its data. */
const NOTICED_LATE = ['resolveAgent', 'notifyWaiting s6', 'authorizeDecision s6'];

const runOf =
  (agent: string): Subject<RunRecord, PlainRecord>['run'] =>
  (testbed, runId, disturbance) =>
    runApproved(testbed, { runId, input: { agent, input: 'Please see to the order', deps: DEPS }, callId: REFUND }, disturbance);

/** The run of an agent. */
export const agentSubject: Subject<RunRecord, PlainRecord> = {
  name: 'agent',
  eventsOfExecution: 75,
  heartbeatMs: 400,
  run: runOf(AGENT),
  plain: plainRecord,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) =>
    point === queryPoint('data') ||
    NOTICED_LATE.some((name) => point === activityPoint('before', name) || point === activityPoint('after', name)),
  sample: (points) => [...points],
};

/** The same run in bursts: each call inside a burst, and each checkpoint, is a point. */
export const burstSubject: Subject<RunRecord, PlainRecord> = {
  ...agentSubject,
  name: 'burst',
  eventsOfExecution: 48,
  run: runOf(BURSTING),
  // Whether something is stored only at the end of a burst, or by a heartbeat that was due, depends on the time of the burst.
  sample: (points) => points.filter((point, index) => !isStored(point) || isCallInside(points[index + 1])),
};
