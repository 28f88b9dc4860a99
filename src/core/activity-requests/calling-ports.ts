import type { Decision } from '../domain/approvals/approval.ts';
import type { RunPorts } from '../loop/ports.ts';
import type { ActivityCall, CallingRun } from './activity-call.ts';
import { authorizeCall, notifyCall, termsCall } from './decision-calls.ts';
import { summaryCall } from './model-call.ts';
import { toolCall, verifyCall } from './tool-call.ts';

/** The ports of the loop that are an activity and nothing else. A model call is more: a message may interrupt it. */
export type CallingPorts = Pick<RunPorts, 'runTool' | 'verify' | 'askTerms' | 'summarise' | 'authorize' | 'notify'>;

/** Performs an activity and gives what its end means. Must not reject. */
export type Perform = <Input, Output, Outcome>(call: ActivityCall<Input, Output, Outcome>) => Promise<Outcome>;

/** Those ports, for whoever performs activities: Temporal, or memory in a test. */
export function callingPorts(run: CallingRun & { authorizing: Map<string, Decision> }, perform: Perform): CallingPorts {
  return {
    runTool: (invocation) => perform(toolCall(run, invocation)),
    verify: (invocation, reason) => perform(verifyCall(run, invocation, reason)),
    askTerms: (invocation) => perform(termsCall(run, invocation)),
    summarise: (request) => perform(summaryCall(run, request)),
    authorize: (decision, waiting) => {
      // While it is checked, its content is to be had by query: it may be too large for the activity's input.
      run.authorizing.set(decision.id, decision);
      return perform(authorizeCall(run, decision, waiting)).finally(() => run.authorizing.delete(decision.id));
    },
    notify: (waiting) => perform(notifyCall(run, waiting)),
  };
}
