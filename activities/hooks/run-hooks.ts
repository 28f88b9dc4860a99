import { defined } from '../../src/core/domain/defined.ts';
import {
  CALL_EVENTS,
  type HookRecord,
  hooksFor,
  type HookSnapshot,
  INLINE_HOOK_MS,
  inlineHooks,
  joinedHooks,
} from '../../src/core/domain/hooks.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { ConversationPoint, PointFinding, PointReport } from '../../src/core/domain/parts.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyHook } from '../../src/define/hooks.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import type { AgentRegistry } from '../agents/agent-registry.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import type { ActedCall, OpenedRun, PointScope, SettledResult, StartingRun, WorkerPart } from '../worker-part.ts';
import { reviewByHooks } from './call-hooks.ts';
import { afterCall, afterResponse, beforeRequest, beforeSummary, openSession, pinnedHook, requireHooks, runEventHooks } from './hooks.ts';

/**
 * Hooks in a worker: those of the worker, of the agent and of its ancestors are pinned for a run, and called at its start, around its
 * model calls, before its calls and for their results. The others have activities (`hook-activities.ts`).
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

/** Asks the hooks about messages, or about an answer. What they deny is a finding that refuses it. */
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
  const { hooks, ...settled } = await afterCall(scope, { on: 'post_tool_use', callId: input.callId, about }, result);
  return { ...settled, ...(hooks.length === 0 ? {} : { record: { hooks } }) };
}

/**
 * Returns the hooks of an agent that acts in a run: those of the ancestors first, then those of the worker. Throws `unknown_hook` for
 * one of the ancestors that this worker lacks.
 */
export function hooksOfRun(
  registry: Pick<AgentRegistry, 'shared' | 'parts'>,
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

/** Calls the hooks at the start of a run, with the instructions of its agent. An agent that takes over continues with a run. */
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
