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
  // Every third of the points for workers, so that each segment and each call is hit at one moment of it, and every ninth for servers.
  sample: (points, pass) => points.filter((_, index) => index % (pass === 'worker' ? 6 : 12) === 1),
};
