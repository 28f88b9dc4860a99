// Each tenant has a budget a month. A start beyond it is refused, and no run can spend more than what is left.
import { defineAgent } from 'longhaul';
import type { HandleOf, LonghaulClient } from 'longhaul/client';

export const clerk = defineAgent({
  name: 'clerk',
  model: 'openai/gpt-5-mini',
  instructions: 'You answer questions of customers.',
  onLimit: 'ask', // at its limit a run waits: someone may raise it, and it continues where it was
});

/** Dollars a month by tenant, and the most that one run may spend. */
const BUDGETS = new Map([
  ['acme', 50],
  ['globex', 5],
]);
const PER_RUN = 1;

export class OverBudget extends Error {}

/** What the runs of a tenant have cost since the first of the month. Runs that are still running count with what they have used. */
export async function spentBy(client: LonghaulClient, tenant: string, now = new Date()): Promise<number> {
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
  let spent = 0;
  for await (const { cost = 0 } of client.list({ tenant, startedAfter: month, amounts: true })) spent += cost;
  return spent;
}

/**
 * Starts a run for a user of a tenant. Starts at the same moment do not see each other: n of them may exceed a budget by n × PER_RUN.
 * `limits` and `governor` of the worker share the requests of a minute among tenants.
 */
export async function startFor(
  client: LonghaulClient,
  { tenant, user }: { tenant: string; user: string },
  input: string,
): Promise<HandleOf<typeof clerk>> {
  const left = (BUDGETS.get(tenant) ?? 0) - (await spentBy(client, tenant));
  if (left <= 0) throw new OverBudget(`The budget of "${tenant}" is used up until the first of the next month`);
  return client.as({ tenant, user }).start(clerk, { input, limits: { costUsd: Math.min(left, PER_RUN) } });
}
