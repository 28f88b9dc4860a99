// Tool phase: segments and calls inside one workflow task.

import { jsonBytes } from '../../domain/byte-budgets.ts';
import type { RunState } from '../state/run-state.ts';
import { codeOf } from './cells.ts';

/**
 * Bytes that local segments, and the local calls of their code, may produce one after the other. All that one workflow task produces is
 * one message of at most 4 MB; the server refuses a larger one, and the task is retried for ever.
 */
const MOST_BYTES = 1_000_000;

/** Local segments one after the other. The size of the history is known only after a workflow task. */
const MOST_SEGMENTS = 50;

/** True if the next segment must not be local: it ends the workflow task. */
export function endsTask({ code }: RunState): boolean {
  const { bytes, segments } = code?.localWork ?? { bytes: 0, segments: 0 };
  return bytes > MOST_BYTES || segments >= MOST_SEGMENTS;
}

/** Counts a segment that has ended. A remote one begins a new workflow task. */
export function countSegment(state: RunState, isLocal: boolean, outcome: object): void {
  const code = codeOf(state);
  const { bytes, segments } = code.localWork ?? { bytes: 0, segments: 0 };
  if (isLocal) code.localWork = { bytes: bytes + jsonBytes(outcome), segments: segments + 1 };
  else delete code.localWork;
}

/** Counts the outcomes of calls of code. A remote one among them begins a new workflow task. */
export function countCalls(state: RunState, areLocal: boolean, outcomes: readonly unknown[]): void {
  const code = codeOf(state);
  const { bytes, segments } = code.localWork ?? { bytes: 0, segments: 0 };
  if (areLocal) code.localWork = { bytes: bytes + jsonBytes(outcomes), segments };
  else delete code.localWork;
}
