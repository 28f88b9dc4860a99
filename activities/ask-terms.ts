import type { ApprovalTerms } from '../src/domain/approval.ts';
import type { AskTermsInput } from '../src/protocol.ts';
import { askPredicate, callDigest, requirePredicate } from './approval-terms.ts';
import { attempt } from './attempt.ts';
import { callArguments } from './call-arguments.ts';
import { failingAs } from './failure.ts';
import { dataFor } from './run-data.ts';
import type { ActivityRuntime } from './runtime.ts';

/** Asks the predicate of a tool again whether a call needs a decision, with the deps as they are now. Null where it needs none. */
export function askTermsActivity(runtime: ActivityRuntime): (input: AskTermsInput) => Promise<ApprovalTerms | null> {
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
    return attempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async ({ signal }) => {
      const terms = await askPredicate({ runtime, run: input, snapshot, signal }, call, () => dataFor(input));
      return terms === undefined ? null : { digest: callDigest(call), ...terms };
    });
  });
}
