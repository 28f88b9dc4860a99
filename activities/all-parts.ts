import type { AgentSnapshot } from '../src/core/domain/agent.ts';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import { burstsInWorker } from './bursts/pin-bursts.ts';
import { handoffsInWorker } from './agents/handoffs.ts';
import { guardrailsInWorker } from './guardrails/run-guardrails.ts';
import { hooksInWorker } from './hooks/run-hooks.ts';
import { memoryInWorker } from './memory/memory-tools.ts';
import { permissionsInWorker } from './permissions/pin-permissions.ts';
import { tierInWorker } from './batch/pin-tier.ts';
import { quietHoursInWorker } from './quiet-hours/pin-quiet-hours.ts';
import type { ActivityRuntime } from './runtime.ts';
import { skillsInWorker } from './skills/skill-tool.ts';
import type { PinnedPart, StartingRun, WorkerPart } from './worker-part.ts';

/** The capabilities of a worker, in the order in which they act at each point, and in which the model reads their tools. */
export const WORKER_PARTS: readonly WorkerPart[] = [
  skillsInWorker,
  memoryInWorker,
  handoffsInWorker,
  permissionsInWorker,
  quietHoursInWorker,
  hooksInWorker,
  guardrailsInWorker,
  tierInWorker,
  burstsInWorker,
];

/** What capabilities add to a snapshot, by their names. */
export type PinnedParts = Readonly<Record<string, PinnedPart>>;

/** Returns what a worker pins for a run that begins. */
export async function pinParts(run: StartingRun): Promise<PinnedParts> {
  const pinned: Record<string, PinnedPart> = {};
  for (const part of WORKER_PARTS) if (part.pin !== undefined) pinned[part.name] = await part.pin(run);
  return pinned;
}

/** Opens a run that begins: returns its instructions, with the texts of its capabilities, as these leave them, and what is pinned then. */
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

/** Returns what capabilities add to the snapshot of an agent, in their order. */
export function partsOfSnapshot(agent: AnyAgent, pinned: PinnedParts = {}): PinnedPart[] {
  return WORKER_PARTS.map((part) => ({ ...part.defined?.(agent), ...pinned[part.name] }));
}

/** Throws `MissingOnWorkerError` if this worker could not review calls of an agent: another one may. */
export function requireReviews(runtime: ActivityRuntime, snapshot: AgentSnapshot): void {
  for (const part of WORKER_PARTS) part.requireReview?.(runtime, snapshot);
}
