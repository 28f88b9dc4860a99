import type { AgentSnapshot } from './agent.ts';
import { jsonBytes } from './byte-budgets.ts';
import type { Window } from './window.ts';

/** The estimated bytes of text per token. The provider's own count corrects the estimate, if there is one. */
export const BYTES_PER_TOKEN = 4;

interface SnapshotSizes {
  /** Bytes of the whole snapshot in the carried state. */
  whole: number;
  /** Bytes of the part that every request repeats. */
  request: number;
  /** Bytes of the name of the agent, as the author of an event. */
  name: number;
}

/** Returns the bytes of a snapshot in the carried state. */
export function snapshotBytes(snapshot: AgentSnapshot): number {
  return sizesOf(snapshot).whole;
}

/** Estimates the tokens of a request with a window: those of the conversation, and of what each request repeats. */
export function estimatedPromptTokens(snapshot: AgentSnapshot, { bytes }: Pick<Window, 'bytes'>): number {
  return estimatedTokens(bytes + sizesOf(snapshot).request);
}

/** Estimates the tokens of a text of some bytes. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The sizes of snapshots, each computed once: a snapshot never changes and may be large. */
const sizes = new WeakMap<AgentSnapshot, SnapshotSizes>();

export function sizesOf(snapshot: AgentSnapshot): SnapshotSizes {
  const known = sizes.get(snapshot);
  if (known !== undefined) return known;
  const described = snapshot.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const request = jsonBytes(snapshot.instructions) + jsonBytes(described);
  const counted = { whole: jsonBytes(snapshot), request, name: jsonBytes(snapshot.name) };
  sizes.set(snapshot, counted);
  return counted;
}
