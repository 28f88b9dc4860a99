import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { AGENT_RUN, PROGRAM_RUN } from '../../core/protocol.ts';
import { executionBeginning } from '../../history/execution-beginning.ts';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';
import { type Identity, isSame } from '../../core/domain/run/principal.ts';
import { ownedBy } from '../principals/owned-by.ts';

/** Executions whose beginnings are read at once. */
const READ_AT_ONCE = 10;

/**
 * Lists the runs of a user of which the server has an execution, open or closed, also earlier ones of runs that continued as new. Search
 * attributes, which any client can write, only say where to look: the first event of an execution says whom it acts for. Leaves out the
 * executions that `except` has. Throws `invalid_input` in a namespace without these attributes.
 */
export async function runsOfUser(
  client: Client,
  { user, userKey, except }: { user: Identity; userKey: string | undefined; except: ReadonlySet<string> },
): Promise<string[]> {
  const types = [AGENT_RUN, PROGRAM_RUN].map(quoted).join(', ');
  const query = [`WorkflowType IN (${types})`, ...ownedBy({ identity: user, userKey }, {})].join(' AND ');
  const listed: { runId: string; executionId: string }[] = [];
  try {
    for await (const { workflowId, runId } of withoutMemos(client).workflow.list({ query })) {
      if (!except.has(runId)) listed.push({ runId: workflowId, executionId: runId });
    }
  } catch (error) {
    throw grpcCode(error) === GRPC.invalidArgument ? withoutAttributes(client, error) : error;
  }
  const runs = new Set<string>();
  for (let from = 0; from < listed.length; from += READ_AT_ONCE) {
    const read = listed.slice(from, from + READ_AT_ONCE);
    const owned = await Promise.all(read.map(({ runId, executionId }) => isOf(client, { runId, executionId, user })));
    for (const [index, { runId }] of read.entries()) if (owned[index]) runs.add(runId);
  }
  return [...runs];
}

/** False for an execution of another user, and for one that the server no longer has. */
async function isOf(
  client: Client,
  { runId, executionId, user }: { runId: string; executionId: string; user: Identity },
): Promise<boolean> {
  try {
    const beginning = await executionBeginning(client, runId, executionId);
    return beginning !== undefined && isSame(beginning.principal ?? {}, user);
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return false;
    throw error;
  }
}

function withoutAttributes(client: Client, cause: unknown): LonghaulError {
  return new LonghaulError(
    'invalid_input',
    `Namespace "${client.options.namespace}" cannot be searched for the runs of a user: it lacks the search attributes of Longhaul, which a worker registers if it has the permission`,
    { cause },
  );
}
