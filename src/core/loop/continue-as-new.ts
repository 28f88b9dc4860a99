import { BYTE_BUDGETS, jsonBytes, MAX_PAYLOAD_BYTES } from '../domain/byte-budgets.ts';
import { withoutRecorded } from './call-results.ts';
import { points } from './points.ts';
import type { NextStep, Position } from './next-step.ts';
import type { Growth, Leaving, RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';
import type { RunState } from './state/run-state.ts';
import { sliceBytes } from './state/slices.ts';
import { BYTES_PER_TOKEN, sizesOf } from './spending.ts';
import type { ToolBatch } from './tool-calls.ts';

// Shared state: room in the history, before a model call and before a tool call.

/** An activity alone: three events of its own and three of the workflow task, and what stands in them besides its content. */
const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/** Bytes that a response (without its content, which is in the window) and the results of its calls may take when a run continues in the middle of it. */
const CARRIED_TOOLS_BYTES = 100_000;

/** Continues as new before a model call if the history of this execution is full and the state is small enough to be carried. */
export function continueBeforeModelCall(state: RunState, ports: RunPorts, position: Position): NextStep | undefined {
  if (!ports.continueDue(ACTIVITY)) return undefined;
  points.beforeContinuing(state);
  return fitsContinueAsNew(state) ? { type: 'continue', position } : undefined;
}

/**
 * True if a tool call is left to the next execution: the history of this one is full, and the results of earlier calls are
 * small enough to be carried. A response may have made the window too large: it is compacted once the calls have results.
 */
export function continueBeforeTool(
  state: RunState,
  ports: RunPorts,
  batch: Pick<ToolBatch, 'response' | 'outcomes' | 'earlier'>,
  leaving?: Leaving,
): boolean {
  // A cancellation is not carried on: the run ends here.
  if (ports.cancelRequested() || !ports.continueDue(ACTIVITY, leaving)) return false;
  if (!points.mayContinue(state)) return false;
  const { response, outcomes, earlier = [] } = batch;
  let bytes = jsonBytes({ ...response, content: [], providerItems: [] });
  for (const outcome of [...earlier, ...outcomes]) {
    if (bytes > CARRIED_TOOLS_BYTES) return false;
    bytes += jsonBytes(outcome?.type === 'result' && outcome.recordedAt !== undefined ? withoutRecorded(outcome) : outcome);
  }
  return bytes <= CARRIED_TOOLS_BYTES && fitsContinueAsNew(state, bytes);
}

/** True if results that are not in the record yet are so large that they should get there before others have ended: a carried state has little room for them. */
export function hasMuchToRecord(outcomes: readonly (ToolOutcome | null)[]): boolean {
  let bytes = 0;
  for (const outcome of outcomes) if (outcome !== null && outcome.recordedAt === undefined) bytes += jsonBytes(outcome);
  return bytes > CARRIED_TOOLS_BYTES / 2;
}

/** Bytes that a call brings into history and into memory at most, while it runs. */
export function bytesInFlight({ call, tool }: ToolInvocation): number {
  return ACTIVITY.bytes + jsonBytes(call.arguments) + (tool.maxResultBytes ?? 0);
}

// Shared state: the size that a window may have.

/** Bytes of the carried state that are not counted below: deps, queue, requests, ids of messages, the last thought, numbers. */
const CARRIED_BESIDE_BYTES = BYTE_BUDGETS.deps + BYTE_BUDGETS.queue + BYTE_BUDGETS.requests + 240_000;

/** Bytes of a carried event besides its content and the name of its author: offset, id, names of fields. */
const EVENT_BYTES = 120;

/**
 * Returns the bytes that the window may have: the least of the limit of its policy, the limit of the model's tokens, and the limit
 * of one payload for the carried state. Zero or less if there is no room for a conversation. Undefined if the window of the run is
 * not bounded (see `AgentSnapshot.window`).
 */
export function windowLimit(state: RunState): number | undefined {
  const policy = state.snapshot.window;
  if (policy === undefined) return undefined;
  return Math.floor(Math.min(policy.maxBytes, carriableBytes(state), bytesOfTokens(state, policy.maxTokens)));
}

/** True if the window is larger than its limit. */
export function isWindowFull(state: RunState): boolean {
  const limit = windowLimit(state);
  return limit !== undefined && state.window.bytes > limit;
}

/** True if the state of the run fits one payload, together with `bytes` of a response and its results. */
export function fitsContinueAsNew(state: RunState, bytes = 0): boolean {
  return state.window.bytes + bytes <= carriableBytes(state);
}

function carriableBytes({ snapshot, context, window, approvals, limits, ...state }: RunState): number {
  const { whole, name } = sizesOf(snapshot);
  const events = window.events.length * (EVENT_BYTES + name);
  const notRun = state.toolCallsNotRun === undefined ? [] : [state.toolCallsNotRun];
  const numbers = [...state.toolCallsByName, ...notRun, ...state.toolCallsStarted, limits, ...(state.resultIds ?? [])];
  const session = state.session === undefined ? 0 : jsonBytes(state.session);
  const counted = whole + jsonBytes([context.state, numbers, approvals]) + session + sliceBytes(state) + events;
  return MAX_PAYLOAD_BYTES - CARRIED_BESIDE_BYTES - counted;
}

/**
 * Returns the bytes of a window with which the next request has `maxTokens`: by the provider's count of the last request or by the
 * estimate, whichever is less.
 */
function bytesOfTokens({ snapshot, measured }: RunState, maxTokens: number): number {
  const repeated = sizesOf(snapshot).request / BYTES_PER_TOKEN;
  const estimated = (maxTokens - repeated) * BYTES_PER_TOKEN;
  if (measured === undefined) return estimated;
  const { tokens, bytes } = measured;
  // Additional tokens are estimated; a counted request shrinks in proportion to its bytes.
  const counted =
    tokens <= maxTokens ? bytes + (maxTokens - tokens) * BYTES_PER_TOKEN : (bytes * (maxTokens - repeated)) / (tokens - repeated);
  return Math.min(estimated, counted);
}
