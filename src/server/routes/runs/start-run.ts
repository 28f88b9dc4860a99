import type { StartOptions } from '../../../client/start/start-run.ts';
import { requestDigest, runIdOfKey } from '../../requests/idempotency-key.ts';
import { requireStart } from '../../auth/access/reach.ts';
import { defineRoute } from '../../routing/route.ts';
import { runStarted, startRunBody } from '../../schemas/start-requests.ts';
import { startOnce } from '../../starting/start-once.ts';
import { memoWith, requireOwnFields, searchAttributePairs } from '../../starting/start-options.ts';
import { START_PROBLEMS, started, startReply } from '../../starting/start-reply.ts';

const ID = 'startRun';

/** Starts a run of an agent. */
export const startRunRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/runs',
    id: ID,
    tag: 'runs',
    summary: 'Start a run of an agent',
    scope: 'runs:write',
    counts: 'starts',
    body: startRunBody,
    idempotencyKey: 'The same key with the same body is the same run: 201 at first, 200 for each repetition. With another body: 422.',
    responses: started(runStarted),
    problems: START_PROBLEMS,
  },
  async ({ body, caller, client, idempotencyKey, settings }) => {
    requireStart(caller, body.agent);
    requireOwnFields(caller, body);
    const { agent, runId: given, ifExists = 'fail', memo, searchAttributes, ...rest } = body;
    const runId = given ?? (idempotencyKey === undefined ? undefined : runIdOfKey(caller.principal, idempotencyKey));
    const digest = idempotencyKey === undefined ? undefined : requestDigest(ID, idempotencyKey, body);
    // The client checks that there is one opening, and which one.
    const options = {
      ...rest,
      ...memoWith(memo, digest),
      ...searchAttributePairs(searchAttributes),
      ...(runId === undefined ? {} : { runId }),
    } as StartOptions;
    const known = settings.agents.find(({ name }) => name === agent) ?? agent;
    const start = async (choice: 'fail' | 'return' | 'restartFailed'): Promise<string> =>
      (await client.start(known, { ...options, ifExists: choice })).runId;
    const again = ifExists === 'fail' ? (digest === undefined ? undefined : 'return') : ifExists;
    const outcome = await startOnce({
      client: client.temporal,
      runId,
      isOfKey: given === undefined,
      digest,
      start: () => start('fail'),
      existing: again === undefined ? undefined : () => start(again),
    });
    return startReply(outcome, `${settings.prefix}/v1/runs/`);
  },
);
