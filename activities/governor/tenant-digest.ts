import type { Principal } from '../../src/core/domain/run.ts';
import { type DataView, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { shareDigest } from './worker-governor.ts';

/**
 * Returns the digest of the tenant on whose behalf a run acts, else of its user, for the snapshot of the run: no model call has to ask for
 * it. Undefined: it acts for nobody, or the worker shares nothing by tenants.
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
