import { cutContent, cutMarker } from '../../src/core/domain/content/cut-content.ts';
import { END_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import type {
  AfterCallInput,
  AtEndInput,
  BeforeCallsInput,
  CallHooksOutput,
  HookedCalls,
  ReviewedCalls,
} from '../../src/core/domain/hooks/hook-messages.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { type CallArgumentsQuestion, QUERIES } from '../../src/core/protocol.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import { queryRun } from '../run-queries/access.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { callArguments } from '../tool-calls/call-arguments.ts';
import { type HookScope, requireHooks, runEventHooks } from './event-hooks.ts';
import { afterCall } from './result-hooks.ts';
import { reviewCalls } from './review-calls.ts';

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
    return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, ({ signal }): Promise<CallHooksOutput | ReviewedCalls> => {
      const scope = { runtime, run: input, snapshot, signal, data: () => dataFor(runtime, input) };
      if ('beforeCallsOf' in input) return callHooksBeforeCalls(scope, input);
      return 'callId' in input ? callHooksAfterCall(scope, input) : callHooksAtEnd(scope, input);
    });
  });
}

/** Calls the hooks at the end of a run, with its whole output. */
async function callHooksAtEnd(scope: HookScope, { status, stopReason }: AtEndInput): Promise<CallHooksOutput> {
  const result = await queryRun<RunResultFields | null>(scope.run, QUERIES.result, null);
  const payload = { status, stopReason, output: result?.output ?? null };
  const hooks: HookRecord[] = [];
  for (const on of END_EVENTS) {
    const { records } = await runEventHooks(scope, { on, payload, problemOf: () => 'a run that has ended cannot be modified' });
    hooks.push(...records);
  }
  return { hooks };
}

/** Calls the hooks before the calls of a response start, with the arguments that the hooks of the model call have left them. */
async function callHooksBeforeCalls(scope: HookScope, input: BeforeCallsInput): Promise<ReviewedCalls> {
  const { runtime } = scope;
  const snapshot = { ...(await runtime.snapshots.load(input, input.agent)), hooks: input.hooks };
  const calls = await queryRun<HookedCalls>(input, QUERIES.hookedCalls, null);
  return reviewCalls({ ...scope, snapshot }, calls);
}

/** Calls the hooks after a call: those for its result, then those for the agent that it has run. */
async function callHooksAfterCall(scope: HookScope, input: AfterCallInput): Promise<CallHooksOutput> {
  const { callId, toolName, child, isError, maxBytes } = input;
  const args = input.arguments ?? (await callArguments(scope.runtime, input, input));
  const content = input.content ?? (await queryRun<JsonValue[]>(input, QUERIES.hookedResult, { callId } satisfies CallArgumentsQuestion));
  const called = await afterCall(scope, { on: 'post_tool_use', callId, about: { toolName, arguments: args } }, { content, isError });
  const about = { agent: child?.agent ?? '', runId: child?.runId ?? '', status: called.isError ? 'error' : 'success' };
  const ended = child === undefined ? { ...called, hooks: [] } : await afterCall(scope, { on: 'subagent_stop', callId, about }, called);
  const hooks = [...called.hooks, ...ended.hooks];
  if (ended.content === content && ended.isError === isError) return { hooks };
  return { hooks, result: { content: cutContent(ended.content, maxBytes, cutMarker).content, isError: ended.isError } };
}
