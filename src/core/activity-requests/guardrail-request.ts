import { ActivityCancellationType } from '@temporalio/common';
import { summaryText } from '../domain/content/summary-text.ts';
import { MISSED_HEARTBEATS } from '../domain/agent/tool-policy.ts';
import { guardrailsOf } from '../domain/guardrails/guardrail.ts';
import type { GuardrailCheck, GuardrailOutcome } from '../loop/ports.ts';
import { ACTIVITIES, type CheckGuardrailsInput, type CheckGuardrailsOutput } from '../protocol.ts';
import { activityProblem } from './activity-outcome.ts';
import { type ActivityRequest, type RequestingRun, RETRY_LOST, runReference, SCHEDULE_TO_CLOSE } from './activity-request.ts';

/** Milliseconds beside the checks: the activity may have to read the conversation from the run. */
const ASSEMBLY_MS = 60_000;

/** Returns the activity that checks the new messages of a run, or its answer, with all guardrails of that type. */
export function guardrailRequest(
  run: RequestingRun,
  { type, from, through, lastEventId }: GuardrailCheck,
): ActivityRequest<CheckGuardrailsInput, CheckGuardrailsOutput, GuardrailOutcome> {
  const { snapshot } = run;
  const guardrails = guardrailsOf(snapshot, type);
  const names = guardrails.map(({ name }) => name).join(', ');
  return {
    name: ACTIVITIES.checkGuardrails,
    tier: 'remote',
    options: {
      summary: summaryText(`${type} · ${names}`),
      startToCloseTimeout: Math.max(...guardrails.map(({ timeoutMs }) => timeoutMs)) + ASSEMBLY_MS,
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      heartbeatTimeout: snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
      // A cancelled activity returns the cost of the model calls that it has made, so the run waits for it.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: RETRY_LOST,
    },
    input: { ...runReference(run), agent: snapshot.digest, type, through, lastEventId, ...(from === undefined ? {} : { from }) },
    returned: guardrailOutcome,
    failed: guardrailFailure,
  };
}

/** Returns the outcome of checks that were made. */
export function guardrailOutcome({ aborted, ...report }: CheckGuardrailsOutput): GuardrailOutcome {
  return { type: aborted ? 'cancelled' : 'checked', report };
}

/** Returns the outcome of checks whose activity failed. */
export function guardrailFailure(error: unknown): GuardrailOutcome {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const code = problem.type === 'failed' ? problem.code : undefined;
  return { type: 'failed', code: code ?? 'internal', message: problem.message };
}
