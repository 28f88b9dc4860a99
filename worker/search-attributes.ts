import type { OperatorService, WorkflowService } from '@temporalio/client';
import { errorMessage } from '../src/domain/error.ts';
import { SEARCH_ATTRIBUTES } from '../src/protocol.ts';

/** What the server calls the type Keyword. */
const KEYWORD = 2;

/** How the attributes are looked up and added: the part of a connection that is needed. */
export interface SearchAttributeAccess {
  operatorService: Pick<OperatorService, 'listSearchAttributes' | 'addSearchAttributes'>;
  workflowService: Pick<WorkflowService, 'countWorkflowExecutions'>;
}

/**
 * Registers Longhaul's search attributes where they are missing, and says whether the namespace has them. Where it
 * may not, runs work without them; `warn` then gets one line with the command that an administrator needs.
 */
export async function ensureSearchAttributes(
  connection: SearchAttributeAccess,
  namespace: string,
  warn: (line: string) => void,
): Promise<boolean> {
  const names = Object.values(SEARCH_ATTRIBUTES);
  try {
    const missing = names.filter(await isMissing(connection, namespace));
    if (missing.length === 0) return true;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
    // Adding an attribute that exists with another type is answered with success and changes nothing.
    const still = names.filter(await isMissing(connection, namespace));
    if (still.length === 0) return true;
    warn(advice(namespace, still, 'the server did not add them as Keyword'));
  } catch (error) {
    if (await canBeSearched(connection, namespace, names)) return true;
    warn(advice(namespace, names, errorMessage(error)));
  }
  return false;
}

/**
 * Whether a search by the attributes is understood: the way to find out where the operator service is not for workers
 * (Temporal Cloud). The operator STARTS_WITH is refused for any type but Keyword.
 */
async function canBeSearched({ workflowService }: SearchAttributeAccess, namespace: string, names: string[]): Promise<boolean> {
  try {
    await workflowService.countWorkflowExecutions({ namespace, query: names.map((name) => `${name} STARTS_WITH 'x'`).join(' AND ') });
    return true;
  } catch {
    return false;
  }
}

async function isMissing(connection: SearchAttributeAccess, namespace: string): Promise<(name: string) => boolean> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return (name) => customAttributes?.[name] !== KEYWORD;
}

function advice(namespace: string, names: string[], why: string): string {
  const flags = names.map((name) => `--name ${name} --type Keyword`).join(' ');
  return (
    `Runs in namespace "${namespace}" cannot be found by agent or status: search attributes are missing (${why}). ` +
    `An administrator can add them: temporal operator search-attribute create --namespace ${namespace} ${flags}`
  );
}
