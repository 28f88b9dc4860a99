import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { ToolCall } from '../../src/core/domain/content.ts';
import { CALL_EVENTS, deniedByHook, type HookEvent, type HookRecord, hooksBeforeCalls, inlineHooks } from '../../src/core/domain/hooks.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import { RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import { checkArguments } from '../../src/core/json-schema/read-by-schema.ts';
import type { CallVerdict, PartReview, ReviewScope } from '../worker-part.ts';
import { runEventHooks } from './hooks.ts';

/** What hooks say about a call, with their answers. */
interface HookVerdict extends CallVerdict {
  records: HookRecord[];
}

/** Bytes of JSON that the verdicts on one response may have: they are recorded beside it, in the same payload. */
const REVIEW_BYTES = 200_000;

/**
 * Calls the hooks of users before calls start: those of one call one after the other, the calls in parallel. Undefined if the run has
 * none here.
 */
export function reviewByHooks(scope: ReviewScope, calls: readonly ToolCall[]): Promise<PartReview> | undefined {
  const hooks = scope.isSeparate ? hooksBeforeCalls(scope.snapshot) : inlineHooks(scope.snapshot, ...CALL_EVENTS);
  if (hooks.length === 0 || calls.length === 0) return undefined;
  return reviewAll({ ...scope, snapshot: { ...scope.snapshot, hooks } }, calls);
}

async function reviewAll(scope: ReviewScope, calls: readonly ToolCall[]): Promise<PartReview> {
  const found = await Promise.all(calls.map((call) => reviewCall(scope, call)));
  const verdicts = new Map<string, CallVerdict>();
  const kept: HookRecord[] = [];
  let bytes = 0;
  for (const [index, { toolCallId: callId, name }] of calls.entries()) {
    const { records, ...verdict } = found[index] ?? { records: [] };
    bytes += jsonBytes({ ...verdict, records });
    if (bytes > REVIEW_BYTES) {
      const problem = `The hooks answered too much about the calls of this response: '${name}' was not called. Ask for fewer calls at once.`;
      verdicts.set(callId, { problem });
      continue;
    }
    kept.push(...records);
    verdicts.set(callId, verdict);
  }
  return { verdicts, record: kept.length === 0 ? {} : { hooks: kept } };
}

/**
 * Calls the hooks about one call: those of the tool, then those of the agent that the call starts, or hands the run over to. Each
 * sees the arguments as those before have left them.
 */
async function reviewCall(scope: ReviewScope, call: ToolCall): Promise<HookVerdict> {
  const tool = scope.snapshot.tools.find(({ name }) => name === call.name);
  const verdict: HookVerdict = { records: [] };
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
