import { jsonBytes } from '../domain/payload-limit.ts';
import type { NextStep, Position } from './next-step.ts';
import type { Growth, RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';

/** An activity alone: three events of its own and three of the workflow task, and what stands in them beside its content. */
const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/** Bytes that the results of calls may take when a run continues in the middle of a response. */
const CARRIED_OUTCOMES_BYTES = 100_000;

/** Before a model call the run goes on in the next execution where this one is full. */
export function continueBeforeModelCall(ports: RunPorts, position: Position): NextStep | undefined {
  return ports.continueDue(ACTIVITY) ? { type: 'continue', position } : undefined;
}

/** True where a tool call belongs into the next execution: this one is full, and what the calls before it gave can be carried. */
export function continueBeforeTool(ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): boolean {
  return ports.continueDue(ACTIVITY) && jsonBytes(outcomes) <= CARRIED_OUTCOMES_BYTES;
}

/** Bytes that a call brings into history and into memory at most, while it runs. */
export function bytesInFlight({ call, tool }: ToolInvocation): number {
  return ACTIVITY.bytes + jsonBytes(call.arguments) + (tool.maxResultBytes ?? 0);
}
