import type { SearchAttributePair } from '@temporalio/common';
import type { JsonObject } from '../../core/domain/json.ts';
import type { IfExists } from '../../client/client-options.ts';
import { requestDigest, runIdOfKey } from '../requests/idempotency-key.ts';
import { requireOwnId } from '../requests/derived-id.ts';
import type { Reply, RouteRequest } from '../routing/route.ts';
import { startOnce } from './start-once.ts';
import { type GuardedFields, memoWith, requireOwnFields, searchAttributePairs } from './start-options.ts';
import { startReply } from './start-reply.ts';

/** The fields of the body of a start that are the same for agents and programs. */
interface StartBody extends GuardedFields {
  runId?: string;
  ifExists?: IfExists;
  memo?: JsonObject;
}

/** The options of a start as the client takes them: those of the body, and those that the service adds. */
type ClientOptions<Body> = Omit<Body, 'runId' | 'ifExists' | 'memo' | 'searchAttributes'> & {
  runId?: string;
  memo?: JsonObject;
  searchAttributes?: SearchAttributePair[];
  ifExists: IfExists;
};

/**
 * Starts a run as a request says, once for its idempotency key, and answers it. `route` keeps apart the requests of several routes with
 * the same key. `notice` tells what the caller should know about a run that has been started.
 */
export async function startRequested<Body extends StartBody>(
  { body, caller, client, idempotencyKey: key, settings }: RouteRequest<unknown, unknown, Body>,
  route: string,
  start: (options: ClientOptions<Body>) => Promise<{ runId: string }>,
  notice: (runId: string) => Promise<string | undefined>,
): Promise<Reply> {
  requireOwnFields(caller, body);
  requireOwnId(body.runId, '#/runId', caller);
  const { runId: given, ifExists = 'fail', memo, searchAttributes, ...options } = body;
  const runId = given ?? (key === undefined ? undefined : runIdOfKey(caller.principal, key, body.principal?.tenant));
  const digest = key === undefined ? undefined : requestDigest(route, key, body);
  const startAs = async (choice: IfExists): Promise<string> => {
    const added = { ...memoWith(memo, digest), ...searchAttributePairs(searchAttributes), ...(runId === undefined ? {} : { runId }) };
    return (await start({ ...options, ...added, ifExists: choice })).runId;
  };
  const outcome = await startOnce({
    client: client.temporal,
    runId,
    isOfKey: given === undefined,
    digest,
    start: () => startAs('fail'),
    existing: ifExists === 'fail' && digest === undefined ? undefined : () => startAs('return'),
    again: ifExists === 'restartFailed' ? () => startAs('restartFailed') : undefined,
  });
  return startReply(outcome, `${settings.prefix}/v1/runs/`, outcome.repeated ? undefined : await notice(outcome.runId));
}
