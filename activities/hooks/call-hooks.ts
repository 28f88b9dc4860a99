import { cutContent, cutMarker } from '../../src/core/domain/content/cut-content.ts';
import { AFTER_AGENT_EVENTS, END_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import type { AfterAgentInput, AtEndInput, CallHooksOutput } from '../../src/core/domain/hooks/hook-messages.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { type CallArgumentsQuestion, QUERIES } from '../../src/core/protocol.ts';
import { attempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import { queryRun } from '../run-queries/access.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { callArguments } from '../tool-calls/call-arguments.ts';
import { type HookScope, requireHooks, runEventHooks } from './event-hooks.ts';
import { afterCall } from './result-hooks.ts';

/** Creates the activity that calls the hooks that belong to no other activity: after an agent that a call has run, and at the end of a run. */
export function callHooksActivity(runtime: ActivityRuntime): (input: AfterAgentInput | AtEndInput) => Promise<CallHooksOutput> {
  return failingAs('internal', (input) => {
    const snapshot = { name: input.agentName, hooks: input.hooks };
    requireHooks(runtime, snapshot, ...AFTER_AGENT_EVENTS, ...END_EVENTS);
    return attempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, ({ signal }) => {
      const scope = { runtime, run: input, snapshot, signal, data: () => dataFor(input) };
      return 'callId' in input ? afterAgent(scope, input) : atEnd(scope, input);
    });
  });
}

async function afterAgent(scope: HookScope, input: AfterAgentInput): Promise<CallHooksOutput> {
  const { callId, toolName, agent, childRunId: runId, maxBytes } = input;
  const args = input.arguments ?? (await callArguments(scope.runtime, input, input));
  const content = input.content ?? (await queryRun<JsonValue[]>(input, QUERIES.hookedResult, { callId } satisfies CallArgumentsQuestion));
  const given = { content, isError: input.isError };
  const tool = await afterCall(scope, { on: 'post_tool_use', callId, about: { toolName, arguments: args } }, given);
  const status = tool.isError ? 'error' : 'success';
  const ended = await afterCall(scope, { on: 'subagent_stop', callId, about: { agent, runId, status } }, tool);
  const hooks = [...tool.hooks, ...ended.hooks];
  if (ended.content === content && ended.isError === input.isError) return { hooks };
  return { hooks, result: { content: cutContent(ended.content, maxBytes, cutMarker).content, isError: ended.isError } };
}

async function atEnd(scope: HookScope, input: AtEndInput): Promise<CallHooksOutput> {
  const result = await queryRun<RunResultFields | null>(scope.run, QUERIES.result, null);
  const payload: JsonObject = { status: input.status, stopReason: input.stopReason, output: result?.output ?? null };
  const hooks: HookRecord[] = [];
  for (const on of END_EVENTS) {
    const { records } = await runEventHooks(scope, { on, payload, problemOf: () => 'a run that has ended cannot be modified' });
    hooks.push(...records);
  }
  return { hooks };
}
