import { type PlainRecord, plainRecord } from '../checks/plain-record.ts';
import { pointProblems, randomProblems, undisturbedProblems } from '../checks/run-problems.ts';
import { activityPoint, queryPoint } from '../points/points.ts';
import { runApproved } from '../runs/run-approved.ts';
import type { RunRecord } from '../runs/run-record.ts';
import { AGENT } from './reference-agent.ts';
import { DEPS, REFUND } from './reference-script.ts';
import type { Subject } from '../subject.ts';

/** The time-out of these activities does not depend on the heartbeats of the testbed. The second queries the run for its data. */
const NOTICED_LATE = ['resolveAgent', 'notifyWaiting s6', 'authorizeDecision s6'];

/** The run of an agent. */
export const agentSubject: Subject<RunRecord, PlainRecord> = {
  name: 'agent',
  eventsOfExecution: 75,
  heartbeatMs: 400,
  run: (testbed, runId, disturbance) =>
    runApproved(testbed, { runId, input: { agent: AGENT, input: 'Please see to the order', deps: DEPS }, callId: REFUND }, disturbance),
  plain: plainRecord,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) =>
    point === queryPoint('data') ||
    NOTICED_LATE.some((name) => point === activityPoint('before', name) || point === activityPoint('after', name)),
  sample: (points) => [...points],
};
