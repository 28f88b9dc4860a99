import { type PlainRecord, plainRecord } from '../checks/plain-record.ts';
import { runApproved } from '../runs/run-approved.ts';
import type { RunRecord } from '../runs/run-record.ts';
import type { Subject } from '../subject.ts';
import { CODER } from './coder-agent.ts';
import { pointProblems, randomProblems, undisturbedProblems } from './coder-problems.ts';
import { REFUND } from './coder-script.ts';

/** The run of an agent that answers with code. */
export const codeSubject: Subject<RunRecord, PlainRecord> = {
  name: 'code',
  eventsOfExecution: 75,
  heartbeatMs: 400,
  run: (testbed, runId, disturbance) =>
    runApproved(testbed, { runId, input: { agent: CODER, input: 'Please see to the orders' }, callId: REFUND }, disturbance),
  plain: plainRecord,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => /(before|after) (resolveAgent|notifyWaiting|authorizeDecision)/.test(point),
  // In the pass of the servers every third of the points.
  sample: (points, pass) => points.filter((_, index) => pass === 'worker' || index % 3 === 0),
};
