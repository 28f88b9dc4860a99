import type {
  AfterCallInput,
  AtEndInput,
  BeforeCallsInput,
  CallHooksOutput,
  ReviewedCalls,
} from '../../src/core/domain/hooks/hook-messages.ts';
import { attempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { callHooksAtEnd } from './end-hooks.ts';
import { requireHooks } from './event-hooks.ts';
import { callHooksAfterCall, callHooksBeforeCalls } from './remote-hooks.ts';

/**
 * Creates the activity that calls the hooks that run in no other: those with an activity of their own, those after an agent that a call
 * has run, and those at the end of a run.
 */
export function callHooksActivity(
  runtime: ActivityRuntime,
): (input: BeforeCallsInput | AfterCallInput | AtEndInput) => Promise<CallHooksOutput | ReviewedCalls> {
  return failingAs('internal', async (input) => {
    const snapshot = { name: input.agentName, hooks: input.hooks };
    requireHooks(runtime, snapshot.hooks);
    return attempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, ({ signal }): Promise<CallHooksOutput | ReviewedCalls> => {
      const scope = { runtime, run: input, snapshot, signal, data: () => dataFor(runtime, input) };
      if ('beforeCallsOf' in input) return callHooksBeforeCalls(scope, input);
      return 'callId' in input ? callHooksAfterCall(scope, input) : callHooksAtEnd(scope, input);
    });
  });
}
