import type { Payload } from '@temporalio/common';
import { ENCRYPTED_ENCODING, environmentKeys, isEncodedAs, keyIdOf, KEYS_VARIABLE } from '../../codec/encryption.ts';
import { counted } from '../../core/domain/text.ts';
import { IS_RUN, quoted } from '../../client/visibility.ts';
import { BATCH_COLLECTOR } from '../../core/protocol.ts';
import { inBatches } from '../../temporal/waiting.ts';
import { type AnsweringServer, type Examination, type Finding, ok, skipped, warn } from './examination.ts';
import { withNamespace } from './server-checks.ts';

/** The open runs that are read, at most. */
const MOST_READ = 200;
const READ_AT_ONCE = 10;

/** The time for reading them: the check may take little longer. */
const READ_MS = 2_000;

/** The runs that are named with a missing key. */
const NAMED = 3;

/** The keys that the newest executions of open runs need, with the runs that need each. */
interface KeysInUse {
  runsByKey: Map<string, string[]>;
  /** The runs that were read, and all open workflows: those of the user may have runs inside. */
  read: number;
  open: number;
}

/** The workflows that are read: a collector of batches has its calls in its history, and no worker continues it without the key either. */
const READ_TYPES = `(${IS_RUN} OR WorkflowType = ${quoted(BATCH_COLLECTOR)})`;

const IS_OPEN = `ExecutionStatus = 'Running'`;

/**
 * Checks which encryption keys open runs need, which says when an old one may go. The ids of keys are in clear text, so the check needs
 * none of them; it reads the histories of the newest executions, which is what a worker reads to continue a run.
 */
export async function checkKeysInUse(examination: Examination): Promise<Finding> {
  return withNamespace(examination, async (server) => {
    const keys = ownKeys(examination);
    const found = await keysInUse(server).catch(() => undefined);
    if (found === undefined) return skipped('The server cannot list the open runs.');
    const { runsByKey, read, open } = found;
    if (runsByKey.size === 0)
      return keys === undefined ? skipped('No open run is encrypted.') : ok(`No open run needs a key${ofAll(found)}.`);
    const used = [...runsByKey].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const uses = used.map(([id, runs]) => `"${id}" (${counted(runs.length, 'run')})`).join(', ');
    const lacking = used.filter(([id]) => keys?.has(id) !== true);
    if (lacking.length === 0) {
      const unused = [...(keys ?? [])].filter((id) => !runsByKey.has(id)).map((id) => `"${id}"`);
      // What was not read may need them.
      const may =
        unused.length === 0 || read < open
          ? ''
          : ` The history of no open run needs ${unused.join(', ')}; content that runs have in a payload store may.`;
      return ok(`Open runs need the keys ${uses}${ofAll(found)}, and this process has them.${may}`);
    }
    const [[id, runs]] = lacking as [(typeof lacking)[number]];
    const named = `${runs
      .slice(0, NAMED)
      .map((one) => `"${one}"`)
      .join(', ')}${runs.length > NAMED ? ', …' : ''}`;
    return warn(
      `Open runs need the keys ${uses}${ofAll(found)}, and this process lacks ${lacking.map(([one]) => `"${one}"`).join(', ')}: a worker with its keys cannot continue ${named}.`,
      `export ${KEYS_VARIABLE}=…,${id}:…`,
    );
  });
}

function ofAll({ read, open }: KeysInUse): string {
  return read < open ? ` (of ${open} open workflows, ${read} were read)` : '';
}

/** The ids of the keys of this process; undefined if there are none. */
function ownKeys({ machine }: Examination): Set<string> | undefined {
  try {
    const { keys } = environmentKeys(machine.env) ?? {};
    return typeof keys === 'object' ? new Set(Object.keys(keys)) : undefined;
  } catch {
    return undefined;
  }
}

async function keysInUse({ connection, namespace }: AnsweringServer): Promise<KeysInUse> {
  const until = Date.now() + READ_MS;
  return connection.withDeadline(until + 500, async () => {
    const [{ executions }, { count }] = await Promise.all([
      connection.workflowService.listWorkflowExecutions({ namespace, query: `${READ_TYPES} AND ${IS_OPEN}`, pageSize: MOST_READ }),
      connection.workflowService.countWorkflowExecutions({ namespace, query: IS_OPEN }),
    ]);
    const runsByKey = new Map<string, string[]>();
    let read = 0;
    const listed = (executions ?? []).flatMap(({ execution }) => execution ?? []);
    const reading = inBatches(listed, READ_AT_ONCE, async (execution) => ({
      runId: execution.workflowId ?? '',
      keys: Date.now() > until ? undefined : await keysOf(connection, { namespace, execution }).catch(() => undefined),
    }));
    for await (const { runId, keys } of reading) {
      if (keys === undefined) continue;
      read += 1;
      for (const id of keys) runsByKey.set(id, [...(runsByKey.get(id) ?? []), runId]);
    }
    return { runsByKey, read, open: Math.max(Number(count ?? 0), listed.length) };
  });
}

type HistoryRequest = Pick<
  Parameters<AnsweringServer['connection']['workflowService']['getWorkflowExecutionHistory']>[0],
  'namespace' | 'execution'
>;

/** Returns the ids of the keys of all payloads in an execution. */
async function keysOf({ workflowService }: AnsweringServer['connection'], request: HistoryRequest): Promise<Set<string>> {
  const found = new Set<string>();
  let nextPageToken: Uint8Array | null = null;
  do {
    const page: Awaited<ReturnType<typeof workflowService.getWorkflowExecutionHistory>> = await workflowService.getWorkflowExecutionHistory(
      {
        ...request,
        nextPageToken,
      },
    );
    for (const event of page.history?.events ?? []) collectKeys(event, found);
    nextPageToken = page.nextPageToken && page.nextPageToken.length > 0 ? page.nextPageToken : null;
  } while (nextPageToken !== null);
  return found;
}

/** Collects the ids of the keys of all payloads in a message of the server. */
export function collectKeys(value: unknown, found: Set<string>): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if (isPayload(value)) {
    if (isEncodedAs(value, ENCRYPTED_ENCODING)) found.add(keyIdOf(value));
    return;
  }
  for (const part of Object.values(value)) collectKeys(part, found);
}

function isPayload(value: object): value is Payload {
  return 'metadata' in value && 'data' in value && value.data instanceof Uint8Array;
}
