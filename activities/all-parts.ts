import type { AgentSnapshot } from '../src/core/domain/agent.ts';
import type { ModelRequest, ModelResponse } from '../src/core/domain/model.ts';
import { notesOf } from '../src/core/domain/parts.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import { pinnedByDefinition } from '../src/define/all-parts.ts';
import { burstsInWorker } from './bursts/pin-bursts.ts';
import { handoffsInWorker } from './agents/handoffs.ts';
import { guardrailsInWorker } from './guardrails/run-guardrails.ts';
import { hooksInWorker } from './hooks/run-hooks.ts';
import { memoryInWorker } from './memory/memory-tools.ts';
import { permissionsInWorker } from './permissions/pin-permissions.ts';
import { tierInWorker } from './batch/pin-tier.ts';
import type { ActivityRuntime } from './runtime.ts';
import { skillsInWorker } from './skills/skill-tool.ts';
import type { AnsweredByPart, CallPurpose, ModelCallScope, PinnedPart, PreparedByPart, StartingRun, WorkerPart } from './worker-part.ts';

/** The parts of capabilities that need nothing from a worker except the time. */
const byDefinition: WorkerPart = {
  name: 'definition',
  pin: ({ agent }) => ({ fields: pinnedByDefinition(agent, Date.now()) }),
};

/** The capabilities of a worker, in the order in which they act at each point and their tools are listed for the model. */
export const WORKER_PARTS: readonly WorkerPart[] = [
  skillsInWorker,
  memoryInWorker,
  handoffsInWorker,
  permissionsInWorker,
  byDefinition,
  hooksInWorker,
  guardrailsInWorker,
  tierInWorker,
  burstsInWorker,
];

/** The parts that capabilities add to a snapshot, by name. */
export type PinnedParts = Readonly<Record<string, PinnedPart>>;

/** Returns the parts that a worker pins for a new run. */
export async function pinParts(run: StartingRun): Promise<PinnedParts> {
  const pinned: Record<string, PinnedPart> = {};
  for (const part of WORKER_PARTS) if (part.pin !== undefined) pinned[part.name] = await part.pin(run);
  return pinned;
}

/** Opens a new run: returns its instructions, as changed and extended by its capabilities, and the parts that are pinned then. */
export async function openParts(pinned: PinnedParts, own: readonly string[]): Promise<{ instructions: string[]; parts: PinnedParts }> {
  const parts: Record<string, PinnedPart> = { ...pinned };
  let instructions = [...own, ...Object.values(pinned).flatMap((part) => part.instructions ?? [])];
  for (const [name, part] of Object.entries(pinned)) {
    if (part.open === undefined) continue;
    const opened = await part.open(instructions);
    instructions = opened.instructions;
    parts[name] = { ...part, fields: { ...part.fields, ...opened.fields } };
  }
  return { instructions, parts };
}

/** Returns the parts that capabilities add to an agent's snapshot, in order. */
export function partsOfSnapshot(agent: AnyAgent, pinned: PinnedParts = {}): PinnedPart[] {
  return WORKER_PARTS.map((part) => ({ ...part.defined?.(agent), ...pinned[part.name] }));
}

/** Throws `MissingOnWorkerError` if this worker cannot review calls of an agent: another worker may. */
export function requireReviews(runtime: ActivityRuntime, snapshot: AgentSnapshot): void {
  for (const part of WORKER_PARTS) part.requireReview?.(runtime, snapshot);
}

/**
 * Throws `MissingOnWorkerError` if this worker lacks something that the agent's capabilities need for a model call: another worker may have
 * it.
 */
export function requireModelCalls(runtime: ActivityRuntime, snapshot: AgentSnapshot, purpose: CallPurpose['type']): void {
  for (const part of WORKER_PARTS) part.requireModelCall?.(runtime, snapshot, purpose);
}

/** Returns a request after the changes of all capabilities. */
export async function preparedByParts(scope: ModelCallScope, purpose: CallPurpose, request: ModelRequest): Promise<PreparedByPart> {
  let left: PreparedByPart = { request, notes: {} };
  for (const part of WORKER_PARTS) {
    const pending = part.beforeModelCall?.(scope, purpose, left.request);
    if (pending === undefined) continue;
    const prepared = await pending;
    left = { request: prepared.request, notes: notesOf(left.notes, prepared.notes) };
  }
  return left;
}

/** Returns an answer after the changes of all capabilities. */
export async function answeredByParts(scope: ModelCallScope, answer: ModelResponse): Promise<AnsweredByPart> {
  let left: AnsweredByPart = { answer, notes: {} };
  for (const part of WORKER_PARTS) {
    const pending = part.afterModelCall?.(scope, left.answer);
    if (pending === undefined) continue;
    const answered = await pending;
    left = { answer: answered.answer, notes: notesOf(left.notes, answered.notes) };
  }
  return left;
}
