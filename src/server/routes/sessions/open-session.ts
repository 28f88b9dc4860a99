import { randomUUID } from 'node:crypto';
import { errorCode, LonghaulError } from '../../../core/domain/errors/error.ts';
import type { SessionOptions } from '../../../client/sessions/session-options.ts';
import { requireOwnId } from '../../requests/derived-id.ts';
import { requestDigest, runIdOfKey } from '../../requests/idempotency-key.ts';
import { requireStart } from '../../auth/access/reach.ts';
import { defineRoute, type Reply } from '../../routing/route.ts';
import { openSessionBody, sessionOpened } from '../../schemas/start-requests.ts';
import { startOnce } from '../../starting/start-once.ts';
import { memoWith, requireOwnFields, searchAttributePairs } from '../../starting/start-options.ts';
import { START_PROBLEMS, started } from '../../starting/start-reply.ts';
import { noticeOfUnseen, startableAgent } from '../../starting/known-agent.ts';

const ID = 'openSession';

/** Opens a session. */
export const openSessionRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/sessions',
    id: ID,
    tag: 'sessions',
    summary: 'Open a session: it waits for its first message',
    scope: 'runs:write',
    counts: 'starts',
    body: openSessionBody,
    idempotencyKey: 'The same key with the same body is the same session: 201 at first, 200 for each repetition. With another body: 422.',
    responses: started(sessionOpened),
    problems: START_PROBLEMS,
  },
  async ({ body, caller, client, idempotencyKey, settings }): Promise<Reply> => {
    requireStart(caller, body.agent);
    requireOwnFields(caller, body);
    requireOwnId(body.id, '#/id', caller);
    const { agent, id: given, memo, searchAttributes, ...rest } = body;
    const id =
      given ??
      (idempotencyKey === undefined ? `${agent}-${randomUUID()}` : runIdOfKey(caller.principal, idempotencyKey, body.principal?.tenant));
    const digest = idempotencyKey === undefined ? undefined : requestDigest(ID, idempotencyKey, body);
    const options = { ...rest, id, ...memoWith(memo, digest), ...searchAttributePairs(searchAttributes) } as SessionOptions;
    const known = startableAgent(settings, caller, agent);
    const outcome = await startOnce({
      client: client.temporal,
      runId: id,
      isOfKey: given === undefined,
      digest,
      start: async () => {
        await client.session(known, options).open();
        return id;
      },
      existing: digest === undefined ? undefined : async () => ownSession(id, () => client.handle(id).status()),
    });
    const { runId: sessionId, repeated } = outcome;
    const headers = { location: `${settings.prefix}/v1/sessions/${encodeURIComponent(sessionId)}` };
    const unlisted = repeated || typeof known !== 'string' ? undefined : { kind: 'agent' as const, name: known, runId: sessionId };
    const notice = await noticeOfUnseen(client.temporal, caller, unlisted);
    return { status: repeated ? 200 : 201, headers, body: { sessionId, repeated, ...(notice === undefined ? {} : { notice }) } };
  },
);

/** Returns the id if the caller reaches the session. Throws `run_exists` otherwise: the id is taken by another principal. */
async function ownSession(id: string, reach: () => Promise<unknown>): Promise<string> {
  try {
    await reach();
    return id;
  } catch (error) {
    if (errorCode(error) !== 'run_not_found') throw error;
    throw new LonghaulError('run_exists', `Session "${id}" exists already: choose another id`, { cause: error });
  }
}
