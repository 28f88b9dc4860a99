import type { Principal } from '../../src/core/domain/run.ts';
import { type DataView, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { shareDigest } from './worker-governor.ts';

/**
 * Returns the digest of the tenant on whose behalf a run acts, otherwise of its user, for the run's snapshot, so that no model call must
 * ask for it. Undefined if the run has no principal, or the worker shares no limits by tenant.
 */
export async function tenantDigest(
  { governor, principals }: Pick<ActivityRuntime, 'governor' | 'principals'>,
  input: OfRun & { principal?: Principal | true | undefined },
): Promise<string | undefined> {
  if (governor?.sharesByTenant !== true || input.principal === undefined) return undefined;
  const ask = async (): Promise<Principal | undefined> => (await queryRun<DataView>(input, QUERIES.data, null)).principal;
  const { tenant, user } = (await principals.of(input, ask)) ?? {};
  return tenant === undefined && user === undefined ? undefined : shareDigest(tenant, tenant === undefined ? user : undefined);
}
