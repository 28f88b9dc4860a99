import type { ApprovalRequirement } from '../../src/core/domain/approvals/approval.ts';
import type { AskTermsInput } from '../../src/core/protocol.ts';
import { askPredicate, callDigest, requirePredicate } from '../model-calls/approval-requirements.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { callArguments } from './call-arguments.ts';
import { failingAs } from '../failures/failure.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';

/**
 * Creates the activity that asks the predicate of a tool again whether a call needs a decision, with the current deps.
 * It returns null if the call needs none.
 */
export function askRequirementActivity(runtime: ActivityRuntime): (input: AskTermsInput) => Promise<ApprovalRequirement | null> {
  return failingAs('internal', async (input) => {
    const snapshot = await runtime.snapshots.load(input, input.agent);
    const tool = snapshot.tools.find(({ name }) => name === input.tool);
    if (tool !== undefined) requirePredicate(runtime, input, snapshot, tool);
    const call = {
      type: 'tool_call' as const,
      toolCallId: input.callId,
      name: input.tool,
      arguments: await callArguments(runtime, input, input),
    };
    return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async ({ signal }) => {
      const terms = await askPredicate({ runtime, run: input, snapshot, signal }, call, () => dataFor(runtime, input));
      return terms === undefined ? null : { digest: callDigest(call), ...terms };
    });
  });
}
