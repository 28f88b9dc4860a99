import { z } from 'zod';
import { USER_STORES } from '../../client/removal/forget-options.ts';
import { LONGEST_WAIT_MS } from '../requests/bounded-wait.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { component } from '../schemas/component.ts';
import { ok } from './route-parts.ts';

const store = z.enum(USER_STORES);

const forgotten = component(
  'Forgotten',
  z.object({
    runs: z.array(z.string()),
    executions: z.number(),
    memoryEntries: z.number(),
    kept: z.array(z.string()),
    without: z.array(store),
  }),
);

const forget = defineRoute(
  {
    method: 'DELETE',
    path: '/v1/users/{user}',
    id: 'forgetUser',
    tag: 'users',
    summary: 'Remove everything of a user',
    description: 'It takes a minute or so. If it answers `wait_timeout`, send it again: it finishes the work.',
    scope: 'admin',
    params: z.object({ user: z.string().min(1).describe('The user.') }),
    query: z.strictObject({
      tenant: z.string().min(1).exactOptional(),
      without: z
        .union([store.transform((one) => [one]), z.array(store)])
        .exactOptional()
        .describe('A store that no worker has; may be repeated. The service must have the others.'),
    }),
    responses: ok(forgotten, 'The numbers of things that were removed.'),
    problems: ['invalid_input', 'wait_timeout', 'archive_failed', 'payload_store_failed', 'memory_failed', 'streams_failed'],
  },
  async ({ params, query, client }) => ({ status: 200, body: await client.forget({ ...params, ...query, timeout: LONGEST_WAIT_MS }) }),
);

/** The routes of users. */
export const USER_ROUTES: readonly Route[] = [forget];
