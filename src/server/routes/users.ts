import { z } from 'zod';
import { USER_STORES } from '../../client/forget-options.ts';
import { requireAllAgents } from '../auth/caller.ts';
import { LONGEST_WAIT_MS } from '../requests.ts';
import { defineRoute, ok, type Route } from '../route.ts';
import { userExportLine } from '../schemas/run-views.ts';
import { component } from '../schemas/values.ts';
import { ndjsonResponse } from '../streams.ts';

const userStore = z.enum(USER_STORES);

const userParams = z.object({ user: z.string().min(1).describe('The user.') });

const userQuery = z.strictObject({
  tenant: z.string().min(1).exactOptional(),
  without: z
    .union([userStore.transform((one) => [one]), z.array(userStore)])
    .exactOptional()
    .describe('A store that no worker has; may be repeated. The service must have the others.'),
});

const forgotten = component(
  'Forgotten',
  z.object({
    runs: z.array(z.string()),
    executions: z.number(),
    memoryEntries: z.number(),
    kept: z.array(z.string()),
    without: z.array(userStore),
  }),
);

const forgetUserRoute = defineRoute(
  {
    method: 'DELETE',
    path: '/v1/users/{user}',
    id: 'forgetUser',
    tag: 'users',
    summary: 'Remove everything of a user',
    description: 'It takes a minute or so. If it answers `wait_timeout`, send it again: it finishes the work.',
    scope: 'admin',
    params: userParams,
    query: userQuery,
    responses: ok(forgotten, 'The numbers of things that were removed.'),
    problems: ['invalid_input', 'wait_timeout', 'archive_failed', 'payload_store_failed', 'memory_failed', 'streams_failed'],
  },
  async ({ params, query, caller, client }) => {
    requireAllAgents(caller);
    return { status: 200, body: await client.forget({ ...params, ...query, timeout: LONGEST_WAIT_MS }) };
  },
);

const exportUserRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/users/{user}/export',
    id: 'exportUser',
    tag: 'users',
    summary: 'Export everything of a user',
    description: 'What `DELETE /v1/users/{user}` would remove. It changes nothing.',
    scope: 'admin',
    params: userParams,
    query: userQuery,
    responses: {
      200: {
        description:
          'A line for each record: first the user, then the runs, each from its line `run` to its line `summary`, then the memory. A line ' +
          '`unread` stands for a part that could not be read. The last line is `end`: a body without one is not whole.',
        schema: userExportLine,
        contentType: 'application/x-ndjson',
      },
    },
    problems: ['invalid_input', 'archive_failed'],
  },
  async ({ params, query, client, ...request }) => {
    requireAllAgents(request.caller);
    return ndjsonResponse(client.exportUser({ ...params, ...query }), request);
  },
);

/** The routes about everything of a user. */
export const USER_ROUTES: readonly Route[] = [exportUserRoute, forgetUserRoute];
