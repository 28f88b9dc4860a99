import type { StartOptions } from '../../../client/start/start-run.ts';
import { requireStart } from '../../auth/access/reach.ts';
import { defineRoute } from '../../routing/route.ts';
import { runStarted, startRunBody } from '../../schemas/start-requests.ts';
import { START_PROBLEMS, started } from '../../starting/start-reply.ts';
import { startRequested } from '../../starting/start-requested.ts';
import { noticeOfUnseen, startableAgent } from '../../starting/known-agent.ts';

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
  async (request) => {
    const { body, caller, client, settings } = request;
    requireStart(caller, body.agent);
    const known = startableAgent(settings, caller, body.agent);
    // The client checks that there is one opening, and which one.
    return startRequested(
      request,
      ID,
      ({ agent: _, ...options }) => client.start(known, options as StartOptions),
      (runId) => noticeOfUnseen(client.temporal, caller, typeof known === 'string' ? { kind: 'agent', name: known, runId } : undefined),
    );
  },
);
