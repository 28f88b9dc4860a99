// What did yesterday cost, by tenant, agent or user? Each run is read once, and a run counts on the day that it started.
import type { LonghaulClient } from 'longhaul/client';

/** What runs are added up by. */
export type CostBy = 'tenant' | 'agentName' | 'user';

/** The runs of one tenant, agent or user. `unpriced`: those whose cost is unknown, because the worker had no price for the model. */
export interface Cost {
  value: string;
  dollars: number;
  tokens: number;
  runs: number;
  unpriced: number;
}

/** The start of yesterday and of today, in UTC. */
export function yesterday(now = new Date()): { startedAfter: string; startedBefore: string } {
  const day = (offset: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + offset)).toISOString();
  return { startedAfter: day(-1), startedBefore: day(0) };
}

/** Adds up the costs of the runs that started within these times. Throws if a run cannot be read: its cost would be missing. */
export async function costsBy(
  client: LonghaulClient,
  by: CostBy,
  within: { startedAfter: string; startedBefore: string },
): Promise<Cost[]> {
  const runs = await Array.fromAsync(client.list({ ...within, amounts: true }));
  const programs = new Set(runs.flatMap(({ kind, runId }) => (kind === 'program' ? [runId] : [])));
  const found = new Map<string, Cost>();
  for (const run of runs) {
    // The cost of a program includes its descendants, whose ids begin with its own.
    if (above(run.runId).some((id) => programs.has(id))) continue;
    const value = run[by] ?? 'none';
    const cost = found.get(value) ?? { value, dollars: 0, tokens: 0, runs: 0, unpriced: 0 };
    cost.dollars += run.cost ?? 0;
    cost.tokens += run.tokens ?? 0;
    cost.runs += 1;
    if (run.cost === undefined && (run.tokens ?? 0) > 0) cost.unpriced += 1;
    found.set(value, cost);
  }
  return [...found.values()].toSorted((one, other) => other.dollars - one.dollars);
}

/** The ids of the runs above a run. */
function above(runId: string): string[] {
  const parts = runId.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}
