import { z } from 'zod';
import { MAX_RUN_TOKEN_MINUTES, RUN_TOKEN_SCOPES } from '../auth/run-tokens/run-tokens.ts';
import { RequestError } from '../problems/request-error.ts';
import { defineRoute } from '../routing/route.ts';
import { list, MOST } from '../schemas/bounded.ts';
import { component } from '../schemas/component.ts';
import { runIdText, timestamp } from '../schemas/json.ts';
import { READ_PROBLEMS } from './route-parts.ts';
import { isoTime } from '../../core/domain/record/time.ts';

const tokenBody = component(
  'TokenRequest',
  z.strictObject({
    runId: runIdText,
    minutes: z.number().gt(0).lte(MAX_RUN_TOKEN_MINUTES).exactOptional().describe('The life of the token. Default 15.'),
    scopes: list(z.enum(RUN_TOKEN_SCOPES), { min: 1, max: MOST.words }).exactOptional().describe('Default: `runs:read`.'),
  }),
);

const tokenMade = component('Token', z.object({ token: z.string(), runId: z.string(), expiresAt: timestamp }));

/** Makes a token for one run, for pages: an `EventSource` sends no headers. */
export const tokenRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/tokens',
    id: 'createToken',
    tag: 'runs',
    summary: 'Make a token for one run and some minutes',
    description: 'A page puts it into the URL of a stream, as `?token=`. It never outlives the credentials of its maker.',
    scope: 'runs:read',
    body: tokenBody,
    responses: { 201: { description: 'The token. It is not shown again.', schema: tokenMade } },
    problems: [...READ_PROBLEMS, 'tokens_off'],
  },
  async ({ body, caller, client, settings: { tokens } }) => {
    if (tokens === undefined)
      throw new RequestError('tokens_off', 'The service has no secret for tokens: set LONGHAUL_TOKEN_SECRET, or "tokenSecrets"');
    // A run that the caller does not reach is unknown to it.
    await client.handle(body.runId).status();
    const { token, expiresAt } = await tokens.make(caller, body);
    return { status: 201, body: { token, runId: body.runId, expiresAt: isoTime(expiresAt) } };
  },
);
