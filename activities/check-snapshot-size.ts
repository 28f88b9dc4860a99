import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import { BYTE_BUDGETS } from '../src/domain/byte-budget.ts';
import { LonghaulError } from '../src/domain/error.ts';
import { jsonBytes } from '../src/domain/payload-limit.ts';

/** Throws `payload_too_large` for a snapshot over its budget, with the name of the agent and of the largest part of it. */
export function checkSnapshotSize(snapshot: AgentSnapshot): void {
  const bytes = jsonBytes(snapshot);
  if (bytes <= BYTE_BUDGETS.snapshot) return;
  const parts: [what: string, bytes: number][] = [
    ['instructions', jsonBytes(snapshot.instructions)],
    ['output schema', jsonBytes(snapshot.output ?? null)],
    ['settings', jsonBytes(snapshot.settings)],
    ...snapshot.tools.map((tool): [string, number] => [`tool "${tool.name}"`, jsonBytes(tool)]),
  ];
  const [what, most] = parts.toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
  throw new LonghaulError(
    'payload_too_large',
    `Agent "${snapshot.name}" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.snapshot}; most of it is its ${what} (${most} bytes): shorten that, or let tools look things up.`,
  );
}
