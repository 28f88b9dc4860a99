import type { Decision } from '../domain/approvals/approval.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { RequestingRun, ScheduleActivity } from './activity-request.ts';
import { authorizeRequest, notifyRequest, requirementRequest } from './decision-requests.ts';
import { afterCallRequest, reviewRequest } from './hook-requests.ts';
import { guardrailRequest } from './guardrail-request.ts';
import { summaryRequest } from './model-request.ts';
import { handoffRequest } from './resolve-request.ts';
import { runSegment } from './segment-request.ts';
import { toolRequest, verifyRequest } from './tool-request.ts';

/** The ports of the loop that only schedule an activity. A model call is not among them, because a message may interrupt it. */
export type ActivityPorts = Pick<
  RunPorts,
  | 'runTool'
  | 'reviewCalls'
  | 'afterCall'
  | 'resolveHandoff'
  | 'switchAgent'
  | 'runSegment'
  | 'verify'
  | 'askTerms'
  | 'summarise'
  | 'checkGuardrails'
  | 'authorize'
  | 'notify'
>;

/** Builds those ports on a function that performs activities: by Temporal, or in memory in a test. */
export function activityPorts(run: RequestingRun & { authorizing: Map<string, Decision> }, perform: ScheduleActivity): ActivityPorts {
  return {
    runTool: (invocation) => perform(toolRequest(run, invocation)),
    reviewCalls: (response) => perform(reviewRequest(run, response)),
    afterCall: (invocation, outcome) => perform(afterCallRequest(run, invocation, outcome)),
    resolveHandoff: (agent) => perform(handoffRequest(run, agent)),
    switchAgent: (snapshot) => {
      run.snapshot = snapshot;
    },
    runSegment: (call) => runSegment(run, call, perform),
    verify: (invocation, reason) => perform(verifyRequest(run, invocation, reason)),
    askTerms: (invocation) => perform(requirementRequest(run, invocation)),
    summarise: (request) => perform(summaryRequest(run, request)),
    checkGuardrails: (check) => perform(guardrailRequest(run, check)),
    authorize: (decision, waiting) => {
      // During the check, the activity can query the content, which may be too large for its input.
      run.authorizing.set(decision.id, decision);
      return perform(authorizeRequest(run, decision, waiting)).finally(() => run.authorizing.delete(decision.id));
    },
    notify: (waiting) => perform(notifyRequest(run, waiting)),
  };
}
