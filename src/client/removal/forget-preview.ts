import type { Client } from '@temporalio/client';
import { ExecutionOwners } from './execution-owners.ts';
import type { UserStores } from './forget-options.ts';
import type { ForgetWork } from './forget.ts';
import { nothingFound } from './nothing-found.ts';
import { runsOfUser } from './runs-of-user.ts';

/** The runs that `forget` would find. */
export interface ForgetPreview {
  /** The number of runs of which the server has anything. */
  listed: number;
  /** The number of further runs that the archive has. */
  archived: number;
  /** The reasons why there may be none. */
  notice?: string;
}

/** Counts the runs that `forget` would remove, and changes nothing. */
export async function previewForget(
  client: Client,
  { user, userKey, stores }: Omit<ForgetWork, 'onNotice' | 'stores'> & { stores: Pick<UserStores, 'archive'> },
): Promise<ForgetPreview> {
  const listed = await runsOfUser(client, { user, userKey, owners: new ExecutionOwners(client, user) });
  const archived = (await stores.archive?.runsOf({ namespace: client.options.namespace, ...user })) ?? [];
  const further = archived.filter((runId) => !listed.includes(runId)).length;
  const notice = listed.length + further > 0 ? undefined : await nothingFound(client, { user, userKey });
  return { listed: listed.length, archived: further, ...(notice === undefined ? {} : { notice }) };
}
