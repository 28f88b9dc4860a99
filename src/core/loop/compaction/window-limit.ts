// Shared state: the size that a window may have.

import type { AgentSnapshot } from '../../domain/agent/agent-snapshot.ts';
import { BYTE_BUDGETS } from '../../domain/json/byte-budget.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../domain/json/payload-limit.ts';
import type { RunState } from '../state/run-state.ts';

/** What a run carries on beside what is counted here: deps, the queue, requests, ids of messages, the last text, numbers. */
const CARRIED_BESIDE_BYTES = BYTE_BUDGETS.deps + BYTE_BUDGETS.queue + BYTE_BUDGETS.requests + 240_000;

/** What stands in a carry beside the content of an event and the name of its author: offset, id, names of fields. */
const EVENT_BYTES = 120;

/** Text has about four bytes to a token. The provider's own count corrects it where there is one. */
const BYTES_PER_TOKEN = 4;

/**
 * Bytes that the window may have: by its policy, by the tokens that the model takes, and by what a run can carry on in
 * one payload, whichever is least. Zero or less where there is no room for any conversation. Undefined where the run
 * has no bounds (see `AgentSnapshot.window`).
 */
export function windowLimit(state: RunState): number | undefined {
  const policy = state.snapshot.window;
  if (policy === undefined) return undefined;
  return Math.floor(Math.min(policy.maxBytes, carriableBytes(state), bytesOfTokens(state, policy.maxTokens)));
}

/** True where the run can be carried on as it stands, with so many bytes of what a response has come to so far. */
export function fitsContinueAsNew(state: RunState, bytes = 0): boolean {
  return state.window.bytes + bytes <= carriableBytes(state);
}

function carriableBytes({ snapshot, context, window, approvals, limits, ...state }: RunState): number {
  const { whole, name } = sizesOf(snapshot);
  const events = window.events.length * (EVENT_BYTES + name);
  const numbers = [...state.toolCallsByName, ...state.toolCallsStarted, limits, ...(state.resultIds ?? [])];
  // Only where there is something, so that the limit of a run is what it was when it is replayed.
  const notArchived = state.notArchived === undefined ? 0 : jsonBytes(state.notArchived);
  const counted = whole + jsonBytes([context.state, numbers, approvals]) + notArchived + events;
  return MAX_PAYLOAD_BYTES - CARRIED_BESIDE_BYTES - counted;
}

/** The size of a window with which the next request has `maxTokens`: by the provider's count of the last one or by its bytes, whichever is less. */
function bytesOfTokens({ snapshot, measured }: RunState, maxTokens: number): number {
  const repeated = sizesOf(snapshot).request / BYTES_PER_TOKEN;
  const estimated = (maxTokens - repeated) * BYTES_PER_TOKEN;
  if (measured === undefined) return estimated;
  const { tokens, bytes } = measured;
  // What comes on top is estimated; what was counted shrinks in proportion to its bytes.
  const counted =
    tokens <= maxTokens ? bytes + (maxTokens - tokens) * BYTES_PER_TOKEN : (bytes * (maxTokens - repeated)) / (tokens - repeated);
  return Math.min(estimated, counted);
}

interface SnapshotSizes {
  /** Bytes of the snapshot as it is carried. */
  whole: number;
  /** Bytes of what every request repeats of it. */
  request: number;
  /** Bytes of the name of the agent, as the author of an event. */
  name: number;
}

/** Tokens of a request with the window as it is, where no provider has counted them. */
export function estimatedPromptTokens({ snapshot, window }: RunState): number {
  return Math.ceil((window.bytes + sizesOf(snapshot).request) / BYTES_PER_TOKEN);
}

/** Tokens of so many bytes of an answer. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** A snapshot never changes, and it may be large: it is counted once. */
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
