import { z } from 'zod';
import { defined } from '../../core/domain/json.ts';
import { defineRoute, flag } from '../route.ts';
import { feedItem } from '../schemas/run-views.ts';
import { openStream, runStreamResponse } from '../streams.ts';

/** The stream of what happens in all runs that the caller reaches. */
export const feedRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/feed',
    id: 'followRuns',
    tag: 'runs',
    summary: 'Follow all runs: which start, wait for a decision, wait no more, and end',
    description:
      'It begins with the runs that wait. A client that is cut off comes back with the last id it has got; a `gap` says that it has to list ' +
      'the runs again. The service polls the server once for all who listen for the same principal.',
    scope: 'runs:read',
    query: z.strictObject({
      agent: z.string().exactOptional(),
      waiting: flag.exactOptional().describe('True: only runs that wait, and those that wait no more.'),
      cursor: z.string().exactOptional().describe('The cursor behind which it begins. The header `Last-Event-ID` goes before it.'),
    }),
    responses: {
      200: {
        description: 'Server-sent events: the id of each is its cursor, its event the type of the item. It never ends by itself.',
        schema: feedItem,
        contentType: 'text/event-stream',
      },
    },
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { agent, waiting, cursor }, client, ...request }) =>
    runStreamResponse((from, signal) => client.feed({ ...defined({ agent, waiting, cursor: from }), signal }), {
      cursor: request.raw.headers.get('last-event-id') ?? cursor,
      ...openStream(request),
      report: request.settings.report,
      path: new URL(request.raw.url).pathname,
    }),
);
