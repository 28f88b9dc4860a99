import { activityInfo } from '@temporalio/activity';
import { checkCodeCalls } from '../../src/core/code/check-code-calls.ts';
import type { RunSegmentOutput } from '../../src/core/domain/code/segment-messages.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { CALL_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import type { ReviewedCalls } from '../../src/core/domain/hooks/hook-messages.ts';
import { inlineHooks } from '../../src/core/domain/hooks/hook-snapshot.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { Segment } from '../../src/core/execution/executor.ts';
import { reviewCalls } from '../hooks/review-calls.ts';
import { dataFor } from '../run-queries/data.ts';
import { roundedMs } from './rounded-ms.ts';
import type { SegmentWork } from './segment-work.ts';

/**
 * Returns the output of a segment whose code waits for calls: the calls, checked, with the approvals that they need. Text if they are
 * too large to be recorded: the reason, for the model.
 */
export async function callsOutput(
  { runtime, input, snapshot, attempt }: SegmentWork,
  { calls: made, durationMs }: Segment & { type: 'calls' },
  digest: string,
): Promise<(RunSegmentOutput & { type: 'calls' }) | string> {
  const checked = checkCodeCalls(made, { snapshot, callId: input.callId, before: input.calls });
  const { calls } = checked;
  const problems = checked.problems && brief(checked.problems);
  const content = { content: calls, ...(problems === undefined ? {} : { problems }) };
  const reviewed = await reviewCalls(
    {
      runtime,
      run: input,
      snapshot: { ...snapshot, hooks: inlineHooks(snapshot, ...CALL_EVENTS) },
      signal: attempt.signal,
      data: () => dataFor(runtime, input),
    },
    content,
  );
  const bytes = jsonBytes({ content, ...reviewed });
  const budget = callsBudget();
  if (bytes > budget)
    return `The ${calls.length} calls that the code made at once have ${bytes} bytes of JSON, more than ${budget}: call with less`;
  return {
    type: 'calls',
    calls: calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    ...withoutInjections(reviewed),
    digest,
    durationMs: roundedMs(durationMs),
  };
}

/** Code reads values alone: a text for the model has no place in the results of its calls. */
function withoutInjections({ injections: _, ...reviewed }: ReviewedCalls): Omit<ReviewedCalls, 'injections'> {
  return reviewed;
}

/** Returns the bytes of JSON that calls may have together: those of a local segment travel with all that its workflow task produces. */
function callsBudget(): number {
  return activityInfo().isLocal ? BYTE_BUDGETS.toolResult : BYTE_BUDGETS.modelResponse;
}

/** Cuts problems to the length of an error message. */
function brief(problems: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(problems).map(([id, problem]) => [id, cutText(problem, BYTE_BUDGETS.errorMessage)]));
}
