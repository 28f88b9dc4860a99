import type {
  ActivityFunctions,
  AfterCallInput,
  AtEndInput,
  AtPointInput,
  AtPointOutput,
  BeforeCallsInput,
  CallHooksOutput,
} from '../../src/core/activity-requests/contracts.ts';
import type { ReviewedCalls } from '../../src/core/domain/activity-messages.ts';
import { END_EVENTS, type HookedCalls, type HookRecord } from '../../src/core/domain/hooks.ts';
import { cutContent, cutMarker } from '../../src/core/domain/byte-budgets.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { notesField } from '../../src/core/domain/notes.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import { type CallArgumentsQuestion, QUERIES } from '../../src/core/protocol.ts';
import { WORKER_PARTS } from '../all-parts.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs } from '../attempts/failure.ts';
import { type ReadPoint, readPoint } from '../worker-part.ts';
import { queryRun } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import { reviewCalls } from '../tool-calls/review-calls.ts';
import { callArguments } from '../tool-calls/run-tool.ts';
import { afterCall, type HookScope, requireHooks, runEventHooks } from './hooks.ts';

/** The activity that only calls hooks. */
export function hookActivities(runtime: ActivityRuntime): Pick<ActivityFunctions, 'callHooks'> {
  return { callHooks: callHooksActivity(runtime) };
}

/**
 * Creates the activity for hooks that run in no other activity: remote hooks, hooks after a sub-agent's call, and hooks at the end of a
 * run. It also asks all capabilities at a point of the conversation.
 */
function callHooksActivity(
  runtime: ActivityRuntime,
): (input: BeforeCallsInput | AfterCallInput | AtEndInput | AtPointInput) => Promise<CallHooksOutput | ReviewedCalls | AtPointOutput> {
  return failingAs('internal', async (input) => {
    if ('point' in input) return askAtPoint(runtime, input);
    const snapshot = { name: input.agentName, hooks: input.hooks };
    requireHooks(runtime, snapshot.hooks);
    return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, ({ signal }): Promise<CallHooksOutput | ReviewedCalls> => {
      const scope = { runtime, run: input, snapshot, signal, data: () => dataFor(runtime, input) };
      if ('beforeCallsOf' in input) return callHooksBeforeCalls(scope, input);
      return 'callId' in input ? callHooksAfterCall(scope, input) : callHooksAtEnd(scope, input);
    });
  });
}

/**
 * Asks all capabilities at a point of the conversation at the same time. Fails only if this worker lacks something that one of them needs.
 */
async function askAtPoint(runtime: ActivityRuntime, run: AtPointInput): Promise<AtPointOutput> {
  const snapshot = await runtime.snapshots.load(run, run.agent);
  for (const part of WORKER_PARTS) part.requirePoint?.(runtime, snapshot, run.point);
  return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (current): Promise<AtPointOutput> => {
    let reading: Promise<ReadPoint> | undefined;
    const read = (): Promise<ReadPoint> => (reading ??= readPoint(runtime, run));
    const scope = { runtime, run, snapshot, signal: current.signal, isCancelled: () => current.isCancelled(), read };
    const answers = await Promise.all(WORKER_PARTS.map(async (part) => [part.name, await part.atPoint?.(scope)] as const));
    const found = Object.fromEntries(answers.filter(([, answer]) => answer !== undefined));
    if (!current.isCancelled()) current.throwIfAborted();
    return current.isCancelled() ? { found, aborted: true } : { found };
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

/** Calls the hooks before a response's calls start, with the arguments as changed by the model call's hooks. */
async function callHooksBeforeCalls(scope: HookScope, input: BeforeCallsInput): Promise<ReviewedCalls> {
  const { runtime } = scope;
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const calls = await queryRun<HookedCalls>(input, QUERIES.hookedCalls, null);
  return reviewCalls({ ...scope, snapshot, isSeparate: true }, calls);
}

/** Calls the hooks after a call: first the hooks for its result, then the hooks for the agent that it ran. */
async function callHooksAfterCall(scope: HookScope, input: AfterCallInput): Promise<CallHooksOutput> {
  const { callId, toolName, child, isError, maxBytes } = input;
  const args = input.arguments ?? (await callArguments(scope.runtime, input, input));
  const content = input.content ?? (await queryRun<JsonValue[]>(input, QUERIES.hookedResult, { callId } satisfies CallArgumentsQuestion));
  const called = await afterCall(scope, { on: 'post_tool_use', callId, about: { toolName, arguments: args } }, { content, isError });
  const about = { agent: child?.agent ?? '', runId: child?.runId ?? '', status: called.isError ? 'error' : 'success' };
  const ended =
    child === undefined ? { ...called, notes: [], hooks: [] } : await afterCall(scope, { on: 'subagent_stop', callId, about }, called);
  const answered = { hooks: [...called.hooks, ...ended.hooks], ...notesField([...called.notes, ...ended.notes]) };
  if (ended.content === content && ended.isError === isError) return answered;
  return { ...answered, result: { content: cutContent(ended.content, maxBytes, cutMarker).content, isError: ended.isError } };
}
