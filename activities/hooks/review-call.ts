import type { ToolCall } from '../../src/core/domain/content/content.ts';
import { RUN_CODE } from '../../src/core/domain/content/tool-text.ts';
import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { HookEvent } from '../../src/core/domain/hooks/hook-event.ts';
import { deniedByHook } from '../../src/core/domain/hooks/denied-by-hook.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { checkArguments } from '../../src/core/json-schema/check-arguments.ts';
import { type HookScope, runEventHooks } from './event-hooks.ts';
import type { CallVerdict } from './review.ts';

/** The run whose calls are reviewed. */
interface ReviewScope extends HookScope {
  snapshot: AgentSnapshot;
}

/**
 * Calls the hooks about one call: those of the tool, then those of the agent that the call starts, or hands the run over to. Each
 * sees the arguments as those before have left them.
 */
export async function reviewCall(scope: ReviewScope, call: ToolCall): Promise<CallVerdict> {
  const tool = scope.snapshot.tools.find(({ name }) => name === call.name);
  const verdict: CallVerdict = { records: [] };
  const injected: string[] = [];
  let args = call.arguments;
  for (const { on, about } of eventsOf(scope.snapshot, call, tool)) {
    const { result, changes, ...answers } = await runEventHooks(scope, {
      on,
      payload: { ...about(args), callId: call.toolCallId, arguments: args },
      callId: call.toolCallId,
      problemOf: (asked) => rewriteProblem(call.name, asked),
    });
    verdict.records.push(...answers.records);
    if (result.type === 'deny') return { records: verdict.records, problem: deniedByHook(call.name, result.text) };
    const rewritten = changes?.['arguments'];
    if (isJsonObject(rewritten)) {
      const checked = tool === undefined ? { args: rewritten } : checkArguments(tool, rewritten);
      if ('problem' in checked && checked.problem !== undefined)
        return { records: verdict.records, problem: `A hook rewrote the arguments. ${checked.problem}` };
      args = verdict.rewrite = checked.args;
    }
    injected.push(...answers.injected);
    if (answers.ask !== undefined) verdict.question ??= answers.ask.text;
  }
  return { ...verdict, ...(injected.length === 0 ? {} : { injection: injected.join('\n') }) };
}

/** An event that a call causes, with what is in its payload beside the call. */
interface CallEvent {
  on: HookEvent;
  about: (args: JsonObject) => JsonObject;
}

/** Returns the events that a call causes, in order. */
function eventsOf({ name: from }: AgentSnapshot, { name: toolName }: ToolCall, tool: ToolSnapshot | undefined): CallEvent[] {
  const { agent, handoff } = tool ?? {};
  return [
    { on: 'pre_tool_use', about: () => ({ toolName }) },
    ...(agent === undefined ? [] : [{ on: 'subagent_start' as const, about: () => ({ agent: agent.name }) }]),
    ...(handoff ? [{ on: 'handoff' as const, about: (args: JsonObject) => ({ from, agent: args['agent'] ?? '' }) }] : []),
  ];
}

/** Returns why a rewrite cannot be used. The arguments are recorded, and those of a cell are its code. */
function rewriteProblem(toolName: string, changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'arguments');
  if (other !== undefined) return `it changes "${other}": only "arguments" can be changed before a call`;
  if (!isJsonObject(changes['arguments'])) return 'it changes "arguments" to something else than an object';
  if (toolName === RUN_CODE) return 'code cannot be rewritten: deny the call, and say why';
  const bytes = jsonBytes(changes['arguments']);
  return bytes > BYTE_BUDGETS.decision ? `the arguments have ${bytes} bytes of JSON, over ${BYTE_BUDGETS.decision}` : undefined;
}
