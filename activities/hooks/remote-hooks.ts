import { cutContent, cutMarker } from '../../src/core/domain/content/cut-content.ts';
import type {
  AfterCallInput,
  BeforeCallsInput,
  CallHooksOutput,
  HookedCalls,
  ReviewedCalls,
} from '../../src/core/domain/hooks/hook-messages.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { type CallArgumentsQuestion, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from '../run-queries/access.ts';
import { callArguments } from '../tool-calls/call-arguments.ts';
import type { HookScope } from './event-hooks.ts';
import { afterCall } from './result-hooks.ts';
import { reviewCalls } from './review-calls.ts';

/** Calls the hooks before the calls of a response start, with the arguments that the hooks of the model call have left them. */
export async function callHooksBeforeCalls(scope: HookScope, input: BeforeCallsInput): Promise<ReviewedCalls> {
  const { runtime } = scope;
  const snapshot = { ...(await runtime.snapshots.load(input, input.agent)), hooks: input.hooks };
  const calls = await queryRun<HookedCalls>(input, QUERIES.hookedCalls, null);
  return reviewCalls({ ...scope, snapshot }, calls);
}

/** Calls the hooks after a call: those for its result, then those for the agent that it has run. */
export async function callHooksAfterCall(scope: HookScope, input: AfterCallInput): Promise<CallHooksOutput> {
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
