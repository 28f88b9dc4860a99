import { defined, isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import {
  CALL_EVENTS,
  deniedByHook,
  type HookEvent,
  type HookRecord,
  hooksBeforeCalls,
  hooksFor,
  type HookSnapshot,
  INLINE_HOOK_MS,
  inlineHooks,
  joinedHooks,
} from '../../src/core/domain/hooks.ts';
import { notesField } from '../../src/core/domain/notes.ts';
import type { ConversationPoint, PointFinding, PointReport } from '../../src/core/domain/parts.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyHook } from '../../src/define/hooks.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import type { AgentRegistry } from '../agents/agent-registry.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import type {
  ActedCall,
  CallVerdict,
  OpenedRun,
  PartReview,
  PointScope,
  ReviewScope,
  SettledResult,
  StartingRun,
  WorkerPart,
} from '../worker-part.ts';
import { afterCall, afterResponse, beforeRequest, beforeSummary, openSession, pinnedHook, requireHooks, runEventHooks } from './hooks.ts';
import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { ToolCall } from '../../src/core/domain/content.ts';
import { RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import { checkArguments } from '../../src/core/json-schema/read-by-schema.ts';
import { parsedArguments } from '../tool-calls/parse-arguments.ts';

/**
 * Hooks in a worker: the hooks of the worker, the agent and its ancestors are pinned for a run, and called at its start, around its model
 * calls, before its calls and for their results. Other hooks run in separate activities (`hook-activities.ts`).
 */
export const hooksInWorker: WorkerPart = {
  name: 'hooks',
  pin(run) {
    const hooks = hooksOfRun(run.runtime.registry, run.agent, run.input.hooks);
    return {
      ...(hooks.length === 0 ? {} : { fields: { hooks } }),
      open: (instructions) => openRun(run, hooks, instructions),
    };
  },
  requireModelCall(runtime, snapshot, purpose) {
    const events = purpose === 'summary' ? (['pre_compact'] as const) : (['pre_request', 'post_response'] as const);
    requireHooks(runtime, hooksFor(snapshot, ...events));
  },
  beforeModelCall(scope, purpose, request) {
    if (hooksFor(scope.snapshot, purpose.type === 'summary' ? 'pre_compact' : 'pre_request').length === 0) return undefined;
    return purpose.type === 'summary' ? beforeSummary(scope, purpose.events, request) : beforeRequest(scope, purpose, request);
  },
  afterModelCall: (scope, answer) => (hooksFor(scope.snapshot, 'post_response').length === 0 ? undefined : afterResponse(scope, answer)),
  requirePoint: (runtime, snapshot, point) => requireHooks(runtime, hooksFor(snapshot, point)),
  atPoint: (scope) => (hooksFor(scope.snapshot, scope.run.point).length === 0 ? undefined : askAtPoint(scope)),
  requireReview: (runtime, snapshot) => requireHooks(runtime, inlineHooks(snapshot, ...CALL_EVENTS)),
  review: reviewByHooks,
  requireSettle: (runtime, { hooks = [] }) => requireHooks(runtime, hooks),
  settle: (runtime, call, result) => (call.input.hooks === undefined ? undefined : settleResult(runtime, call, result)),
};

/** Asks the hooks about messages, or about an answer. A deny becomes a finding that refuses it. */
async function askAtPoint({ runtime, run, snapshot, signal, isCancelled, read }: PointScope): Promise<PointReport> {
  const { subject, data } = await read();
  const { type: on, ...payload } = subject;
  const scope = { runtime, run, snapshot, signal, data: () => Promise.resolve(data) };
  const { records } = await runEventHooks(scope, {
    on,
    payload: cleanJson(payload) as JsonObject,
    deniesOnly: true,
  });
  return { findings: isCancelled() ? [] : records.flatMap((record) => findingOf(record, on)) };
}

function findingOf({ hook: name, answer, text, denied }: HookRecord, type: ConversationPoint): PointFinding[] {
  const about = { name, type };
  if (answer === 'deny') return [{ ...about, outcome: 'tripped', message: text ?? `Hook "${name}" denied it` }];
  if (answer !== 'failed') return [];
  return [{ ...about, outcome: denied ? 'failed' : 'failed_open', message: `Hook "${name}" failed: ${text ?? 'without a reason'}` }];
}

async function settleResult(
  runtime: ActivityRuntime,
  { input, name: toolName, args, data, signal }: ActedCall,
  result: SettledResult,
): Promise<SettledResult> {
  const snapshot = { name: input.agentName, ...defined({ hooks: input.hooks }) };
  const scope = { runtime, run: input, snapshot, signal, data: () => Promise.resolve(data) };
  const about = { toolName, arguments: args };
  const { hooks, notes, ...settled } = await afterCall(scope, { on: 'post_tool_use', callId: input.callId, about }, result);
  // No model reads the results of a program's steps.
  const noted = input.ofProgram ? {} : notesField(notes);
  return { ...settled, ...(hooks.length === 0 ? {} : { record: { hooks, ...noted } }) };
}

/**
 * Returns the hooks of a run's acting agent: first the ancestors' hooks, then the worker's. Throws `unknown_hook` for an ancestor's hook
 * that this worker lacks.
 */
export function hooksOfRun(
  registry: Pick<AgentRegistry, 'shared' | 'parts' | 'missingPart'>,
  { name: of, hooks = [] }: Pick<AnyAgent, 'name' | 'hooks'>,
  inherited: readonly HookSnapshot[] = [],
): HookSnapshot[] {
  for (const hook of inherited) pinnedHook(registry, hook);
  const { hooks: shared = [] } = registry.shared;
  return joinedHooks(inherited, [...shared.map(hookSnapshot), ...hooks.map((hook) => ({ ...hookSnapshot(hook), of }))]);
}

function hookSnapshot({ name, on, tier, timeoutMs, failClosed }: AnyHook): HookSnapshot {
  const closed = failClosed ? { failClosed } : {};
  if (tier === 'inline') return { name, on, ...closed };
  return { name, on, tier, ...(timeoutMs === INLINE_HOOK_MS ? {} : { timeoutMs }), ...closed };
}

/**
 * Calls the hooks at the start of a run, with the instructions of its agent. An agent that takes over continues a run, and has no start.
 */
async function openRun(
  { runtime, input: run, agent: { name }, deps, signal }: StartingRun,
  hooks: HookSnapshot[],
  instructions: string[],
): Promise<OpenedRun> {
  const begun = run.from === undefined ? hooks : [];
  const { principal } = run;
  const input = { ...defined({ run: run.run }), deps, ...defined({ principal }) };
  const scope = { runtime, run, snapshot: { name, hooks: begun }, signal, data: () => dataFor(runtime, input) };
  const opened = await openSession(scope, instructions);
  return { instructions: opened.instructions, fields: opened.records.length === 0 ? {} : { hookRecords: opened.records } };
}

/** The hooks' verdict on a call, with their answers. */
interface HookVerdict extends CallVerdict {
  records: HookRecord[];
}

/** The maximum bytes of JSON of the verdicts on one response: they are recorded with it, in the same payload. */
const REVIEW_BYTES = 200_000;

/**
 * Calls users' hooks before calls start: sequentially for each call, and in parallel for all calls. Undefined if the run has no such hooks.
 */
function reviewByHooks(scope: ReviewScope, calls: readonly ToolCall[]): Promise<PartReview> | undefined {
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
 * Calls the hooks about one call: first for the tool, then for the agent that the call starts or hands the run over to. Each sees the
 * arguments as changed by the previous ones.
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
      ...(tool?.changesArguments ? { asRead: (asked) => parsedChanges(scope, tool, asked) } : {}),
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

/** Returns the arguments of a hook as their tool runs with them; unchanged if its schema refuses them, which the call's review says. */
async function parsedChanges({ runtime, snapshot }: ReviewScope, { name }: ToolSnapshot, changes: JsonObject): Promise<JsonObject> {
  const given = changes['arguments'];
  return isJsonObject(given) ? { ...changes, arguments: (await parsedArguments(runtime, snapshot, name, given)).args } : changes;
}

/** An event that a call causes, with the fields of its payload in addition to the call. */
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

/** Returns why a rewrite cannot be used. The arguments are recorded, and a cell's arguments are its code. */
function rewriteProblem(toolName: string, changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'arguments');
  if (other !== undefined) return `it changes "${other}": only "arguments" can be changed before a call`;
  if (!isJsonObject(changes['arguments'])) return 'it changes "arguments" to something else than an object';
  if (toolName === RUN_CODE) return 'code cannot be rewritten: deny the call, and say why';
  const bytes = jsonBytes(changes['arguments']);
  return bytes > BYTE_BUDGETS.decision ? `the arguments have ${bytes} bytes of JSON, over ${BYTE_BUDGETS.decision}` : undefined;
}
