import type { Client } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import type { Identity } from '../../core/domain/run.ts';
import { IS_RUN } from '../listing/run-types.ts';
import { isHashedUser } from '../principals/principal-attributes.ts';

/** Runs that are looked at to see in which form the server lists users. */
const LOOKED_AT = 20;

/** Returns a notice that no run of a user was found, with the reasons that there may be for it. */
export async function nothingFound(client: Client, { user, userKey }: { user: Identity; userKey: string | undefined }): Promise<string> {
  const reasons = [
    `runs are found by their tenant and user, exactly${user.tenant === undefined ? ', and this user has no tenant' : ''}`,
    await keyReason(client, userKey),
  ];
  return `No run of ${nameOfUser(user)} was found: ${reasons.join('; ')}`;
}

/** Returns a user with its tenant, for messages. */
export function nameOfUser({ tenant, user }: Identity): string {
  return `user "${user}"${tenant === undefined ? ' without a tenant' : ` of tenant "${tenant}"`}`;
}

async function keyReason(client: Client, userKey: string | undefined): Promise<string> {
  if (userKey !== undefined) return 'runs that were started with another user key are listed under another hash';
  return (await listsHashedUsers(client))
    ? 'the server lists runs under hashed users: give the client the "userKey" of those that start runs, LONGHAUL_USER_KEY on the command line'
    : 'runs of clients with a "userKey" are listed under a hashed user, and are found with that key alone (LONGHAUL_USER_KEY on the command line)';
}

async function listsHashedUsers(client: Client): Promise<boolean> {
  const query = `${IS_RUN} AND ${SEARCH_ATTRIBUTES.user} IS NOT NULL`;
  let count = 0;
  for await (const { typedSearchAttributes } of withoutMemos(client).workflow.list({ query, pageSize: LOOKED_AT })) {
    const shown = typedSearchAttributes.getAll().find(({ key }) => key.name === SEARCH_ATTRIBUTES.user)?.value;
    if (typeof shown === 'string' && isHashedUser(shown)) return true;
    count += 1;
    if (count === LOOKED_AT) break;
  }
  return false;
}
