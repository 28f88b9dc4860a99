import type { AgentSnapshot } from '../domain/agent-snapshot.ts';
import { BYTE_BUDGETS } from '../domain/byte-budget.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../domain/payload-limit.ts';
import type { RunState } from './run-state.ts';

/** What a run carries on beside window, snapshot and state: deps, queue, ids of messages, outcomes of calls, last texts, numbers. */
const CARRIED_BESIDE_BYTES = BYTE_BUDGETS.deps + BYTE_BUDGETS.queue + 350_000;

/** Text has about four bytes to a token. The provider's own count corrects it where there is one. */
const BYTES_PER_TOKEN = 4;

/** How full the window is: 1 is the limit that the agent or the size of a payload sets, whichever is nearer. */
export interface Fullness {
  ratio: number;
  /** Bytes of the window at which the ratio would be 1. */
  limitBytes: number;
}

/** Undefined where the run has no bounds (see `AgentSnapshot.window`). */
export function windowFullness(state: RunState): Fullness | undefined {
  const { snapshot, window } = state;
  const policy = snapshot.window;
  if (policy === undefined) return undefined;
  const carried = MAX_PAYLOAD_BYTES - CARRIED_BESIDE_BYTES - sizesOf(snapshot).whole - jsonBytes(state.context.state);
  const maxBytes = Math.min(policy.maxBytes, carried);
  const ratio = Math.max(window.bytes / maxBytes, windowTokens(state) / policy.maxTokens);
  return { ratio, limitBytes: window.bytes / ratio };
}

/** About how many tokens the next request has: what the provider counted for the last one, or its bytes, whichever is more. */
export function windowTokens({ snapshot, window, measured }: RunState): number {
  const estimated = (sizesOf(snapshot).request + window.bytes) / BYTES_PER_TOKEN;
  const counted = measured === undefined ? 0 : measured.tokens + Math.max(0, window.bytes - measured.bytes) / BYTES_PER_TOKEN;
  return Math.ceil(Math.max(estimated, counted));
}

interface SnapshotSizes {
  /** Bytes of the snapshot as it is carried. */
  whole: number;
  /** Bytes of what every request repeats of it. */
  request: number;
}

/** A snapshot never changes, and it may be large: it is counted once. */
const sizes = new WeakMap<AgentSnapshot, SnapshotSizes>();

function sizesOf(snapshot: AgentSnapshot): SnapshotSizes {
  const known = sizes.get(snapshot);
  if (known !== undefined) return known;
  const described = snapshot.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const counted = { whole: jsonBytes(snapshot), request: jsonBytes(snapshot.instructions) + jsonBytes(described) };
  sizes.set(snapshot, counted);
  return counted;
}
