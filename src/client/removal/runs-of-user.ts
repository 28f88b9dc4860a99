import type { Client } from '@temporalio/client';
import { LonghaulError } from '../../core/domain/errors.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import type { Identity } from '../../core/domain/run.ts';
import { principalConditions } from '../principals/principal-conditions.ts';
import type { ExecutionOwners } from './execution-owners.ts';
import { IS_RUN } from '../listing/run-types.ts';

/** The user whose runs are listed. */
export interface ListedUser {
  user: Identity;
  userKey: string | undefined;
  owners: ExecutionOwners;
  /** Executions to leave out. */
  except?: ReadonlySet<string>;
}

/**
 * Lists the runs of a user of which the server has an execution, open or closed, also earlier ones of runs that continued as new. Search
 * attributes, which any client can write, only say where to look: the first event of an execution says whom it acts for. With a user key,
 * it also looks for the user in clear text, as runs that were started without the key are listed. Throws `invalid_input` in a namespace
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

function withoutAttributes(client: Client, cause: unknown): LonghaulError {
  return new LonghaulError(
    'invalid_input',
    `Namespace "${client.options.namespace}" cannot be searched for the runs of a user: it lacks the search attributes of Longhaul, which a worker registers if it has the permission`,
    { cause },
  );
}
