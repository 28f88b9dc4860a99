import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../core/domain/errors.ts';
import { type Identity, isSameIdentity } from '../core/domain/run.ts';
import { SEARCH_ATTRIBUTES } from '../core/protocol.ts';
import { executionBeginning } from '../history/execution-reader.ts';
import { inStore } from '../stores/store-failures.ts';
import { findExecution, withoutMemos } from '../temporal/run-workflow.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import { inBatches } from '../temporal/waiting.ts';
import type { UserStores } from './forget-options.ts';
import { IS_RUN, isHashedUser, isRunType, principalConditions, quoted } from './visibility.ts';

/** The user whose runs are listed. */
export interface ListedUser {
  user: Identity;
  userKey: string | undefined;
  owners: ExecutionOwners;
  /** Executions to leave out. */
  except?: ReadonlySet<string>;
}

/**
 * Lists the runs of a user that have an execution on the server: open, closed, or continued as new. Search
 * attributes, which any client can write, only say where to look: the first event of an execution holds its principal. With a user key,
 * it also looks for the user in clear text, to find runs that were started without the key. Throws `invalid_input` in a namespace
 * without these attributes.
 */
export async function runsOfUser(client: Client, { user, userKey, owners, except = new Set() }: ListedUser): Promise<string[]> {
  const conditions = [...new Set([userKey, undefined])].map(
    (key) => `(${principalConditions({ identity: user, userKey: key }, {}).join(' AND ')})`,
  );
  const query = `${IS_RUN} AND (${conditions.join(' OR ')})`;
  const listed: { runId: string; executionId: string }[] = [];
  try {
    for await (const { workflowId, runId } of withoutMemos(client).workflow.list({ query })) {
      if (!except.has(runId)) listed.push({ runId: workflowId, executionId: runId });
    }
  } catch (error) {
    throw grpcCode(error) === GRPC.invalidArgument ? withoutAttributes(client, error) : error;
  }
  return [...new Set((await owners.only('user', listed)).map(({ runId }) => runId))];
}

/** Lists the runs of a user that the archive, if any, has. */
export async function archivedRuns(client: Client, user: Identity, { archive }: Pick<UserStores, 'archive'>): Promise<readonly string[]> {
  const { namespace } = client.options;
  const runs = await inStore('archive', `The archived runs of ${nameOfUser(user)} were not found`, async () =>
    archive?.runsOf({ namespace, ...user }),
  );
  return runs ?? [];
}

function withoutAttributes(client: Client, cause: unknown): LonghaulError {
  return new LonghaulError(
    'invalid_input',
    `Namespace "${client.options.namespace}" cannot be searched for the runs of a user: it lacks the search attributes of Longhaul, which a worker registers if it is allowed to`,
    { cause },
  );
}

/** The owner of an execution: the user in question, or another principal. */
type ExecutionOwner = 'user' | 'other';

/** Executions whose first events are read at the same time. */
const READ_AT_ONCE = 10;

/**
 * Distinguishes a user's executions from other principals' executions. The first event of an execution holds its principal and never
 * changes, so each is read once. A run id is no proof: once a run has ended, another user may take its id.
 */
export class ExecutionOwners {
  readonly #client: Client;
  readonly #user: Identity;
  readonly #known = new Map<string, ExecutionOwner>();

  constructor(client: Client, user: Identity) {
    this.#client = client;
    this.#user = user;
  }

  /** Returns the owner of an execution; undefined for one that the server no longer has. */
  async of(runId: string, executionId: string): Promise<ExecutionOwner | undefined> {
    const owner = this.#known.get(executionId) ?? (await this.#read(runId, executionId));
    if (owner !== undefined) this.#known.set(executionId, owner);
    return owner;
  }

  /** Returns the executions that have this owner. */
  async only<Execution extends { runId: string; executionId: string }>(
    owner: ExecutionOwner,
    executions: readonly Execution[],
  ): Promise<Execution[]> {
    const found: Execution[] = [];
    const read = inBatches(executions, READ_AT_ONCE, async (execution) => {
      return { execution, owner: await this.of(execution.runId, execution.executionId) };
    });
    for await (const one of read) if (one.owner === owner) found.push(one.execution);
    return found;
  }

  /** Returns the owner of the newest execution of a run; undefined if the server has none. */
  async ofNewest(runId: string): Promise<ExecutionOwner | undefined> {
    const newest = await findExecution(this.#client, runId);
    if (newest === undefined) return undefined;
    return isRunType(newest.type) ? this.of(runId, newest.runId) : 'other';
  }

  /** True if the server has an execution with this id that belongs to another principal, or to another type of workflow. */
  async hasOthers(runId: string): Promise<boolean> {
    if ((await this.ofNewest(runId)) === 'other') return true;
    const executions: { runId: string; executionId: string }[] = [];
    for await (const info of withoutMemos(this.#client).workflow.list({ query: `WorkflowId = ${quoted(runId)}` })) {
      if (!isRunType(info.type)) return true;
      executions.push({ runId, executionId: info.runId });
    }
    return (await this.only('other', executions)).length > 0;
  }

  async #read(runId: string, executionId: string): Promise<ExecutionOwner | undefined> {
    try {
      const beginning = await executionBeginning(this.#client, runId, executionId);
      if (beginning === undefined) return undefined;
      return isSameIdentity(beginning.principal ?? {}, this.#user) ? 'user' : 'other';
    } catch (error) {
      if (errorCode(error) === 'run_not_found') return undefined;
      throw error;
    }
  }
}

/** Runs that are sampled to see how the server lists users (hashed or in clear text). */
const LOOKED_AT = 20;

/** Returns a notice that no run of a user was found, with likely reasons. */
export async function nothingFound(client: Client, { user, userKey }: { user: Identity; userKey: string | undefined }): Promise<string> {
  const reasons = [
    `runs are found by their tenant and user, exactly${user.tenant === undefined ? ', and this user has no tenant' : ''}`,
    await keyReason(client, userKey),
  ];
  return `No run of ${nameOfUser(user)} was found: ${reasons.join('; ')}`;
}

export function nameOfUser({ tenant, user }: Identity): string {
  return `user "${user}"${tenant === undefined ? ' without a tenant' : ` of tenant "${tenant}"`}`;
}

async function keyReason(client: Client, userKey: string | undefined): Promise<string> {
  if (userKey !== undefined) return 'runs that were started with another user key are listed under another hash';
  return (await listsHashedUsers(client))
    ? 'the server lists runs under hashed users: give the client the "userKey" of those that start runs, LONGHAUL_USER_KEY on the command line'
    : 'runs of clients with a "userKey" are listed under a hashed user, and found only with that key (LONGHAUL_USER_KEY on the command line)';
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
