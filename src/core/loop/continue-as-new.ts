import type { AgentSnapshot } from '../domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes, MAX_PAYLOAD_BYTES } from '../domain/byte-budgets.ts';
import type { HandoffState } from '../domain/handoffs.ts';
import { withoutRecorded } from './call-results.ts';
import { CARRIED_JOURNAL_BYTES, continuedCodeBytes, forgetLargeJournal } from './code-cells.ts';
import type { NextStep, Position } from './next-step.ts';
import type { Growth, Leaving, RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';
import type { RunState } from './state/run-state.ts';
import type { ToolBatch } from './tool-calls.ts';

// Shared state: room in the history, before a model call and before a tool call.

/** An activity alone: three events of its own and three of the workflow task, and what stands in them besides its content. */
const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/** Bytes that a response (without its content, which is in the window) and the results of its calls may take when a run continues in the middle of it. */
const CARRIED_TOOLS_BYTES = 100_000;

/** Continues as new before a model call if the history of this execution is full and the state is small enough to be carried. */
export function continueBeforeModelCall(state: RunState, ports: RunPorts, position: Position): NextStep | undefined {
  if (!ports.continueDue(ACTIVITY)) return undefined;
  forgetLargeJournal(state);
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
  // A large journal is forgotten between two steps, and never in the middle of a cell.
  if (state.code !== undefined && state.code.journalBytes > CARRIED_JOURNAL_BYTES) return false;
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

/** The estimated bytes of text per token. The provider's own count corrects the estimate, if there is one. */
const BYTES_PER_TOKEN = 4;

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

/** True if the state of the run fits one payload, together with `bytes` of a response and its results. */
export function fitsContinueAsNew(state: RunState, bytes = 0): boolean {
  return state.window.bytes + bytes <= carriableBytes(state);
}

function carriableBytes({ snapshot, context, window, approvals, limits, ...state }: RunState): number {
  const { whole, name } = sizesOf(snapshot);
  const events = window.events.length * (EVENT_BYTES + name);
  const notRun = state.toolCallsNotRun === undefined ? [] : [state.toolCallsNotRun];
  const numbers = [...state.toolCallsByName, ...notRun, ...state.toolCallsStarted, limits, ...(state.resultIds ?? [])];
  const notArchived = state.notArchived === undefined ? 0 : jsonBytes(state.notArchived);
  const code = state.code === undefined ? 0 : continuedCodeBytes(state.code);
  const handoffs = state.handoffs === undefined ? 0 : handoffBytes(state.handoffs);
  const session = state.session === undefined ? 0 : jsonBytes(state.session);
  const counted = whole + jsonBytes([context.state, numbers, approvals]) + notArchived + code + handoffs + session + events;
  return MAX_PAYLOAD_BYTES - CARRIED_BESIDE_BYTES - counted;
}

/** Returns the bytes of the carried snapshots of the agents that do not act, and of their usage. */
function handoffBytes({ pinned, next, usage }: HandoffState): number {
  const snapshots = next === undefined ? pinned : [...pinned, next];
  return snapshots.reduce((sum, one) => sum + sizesOf(one).whole, jsonBytes(usage));
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

interface SnapshotSizes {
  /** Bytes of the whole snapshot in the carried state. */
  whole: number;
  /** Bytes of the part that every request repeats. */
  request: number;
  /** Bytes of the name of the agent, as the author of an event. */
  name: number;
}

/** Estimates the tokens of a request with the current window. */
export function estimatedPromptTokens({ snapshot, window }: RunState): number {
  return Math.ceil((window.bytes + sizesOf(snapshot).request) / BYTES_PER_TOKEN);
}

export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The sizes of snapshots, each computed once: a snapshot never changes and may be large. */
const sizes = new WeakMap<AgentSnapshot, SnapshotSizes>();

function sizesOf(snapshot: AgentSnapshot): SnapshotSizes {
  const known = sizes.get(snapshot);
  if (known !== undefined) return known;
  const described = snapshot.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const request = jsonBytes(snapshot.instructions) + jsonBytes(described);
  const counted = { whole: jsonBytes(snapshot), request, name: jsonBytes(snapshot.name) };
  sizes.set(snapshot, counted);
  return counted;
}
