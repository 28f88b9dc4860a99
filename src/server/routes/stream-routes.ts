import { z } from 'zod';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { streamItem } from '../schemas/stream-items.ts';
import { openStream } from '../sse/open-stream.ts';
import { runStreamResponse } from '../sse/run-stream.ts';
import { READ_PROBLEMS, runParams, sessionParams } from './route-parts.ts';

const query = z.strictObject({
  cursor: z.string().exactOptional().describe('The cursor behind which the stream begins. The header `Last-Event-ID` goes before it.'),
  token: z.string().exactOptional().describe('A token for the run, for clients that send no headers.'),
});

const responses = {
  200: {
    description:
      'Server-sent events: the id of each is its cursor, its event the type of the item. Only `end` ends a stream. A `problem` is the last ' +
      'event of a run that cannot be followed any more.',
    schema: streamItem,
    contentType: 'text/event-stream',
  },
  204: { description: 'The cursor is that of the end: nothing comes any more.' },
};

const description =
  'A client that is cut off comes back with the last id it has got, in `Last-Event-ID` or `cursor`, to any instance of the service. ' +
  'Disconnecting ends nothing.';

const problems = [...READ_PROBLEMS, 'invalid_cursor', 'run_terminated', 'run_timed_out'] as const;

const streamRun = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/stream',
    id: 'streamRun',
    tag: 'runs',
    summary: 'Follow a run as it happens',
    description,
    scope: 'runs:read',
    params: runParams,
    query,
    responses,
    problems,
  },
  ({ params: { runId }, ...request }) => followed(runId, request),
);

const streamSession = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}/stream',
    id: 'streamSession',
    tag: 'sessions',
    summary: 'Follow a session as it happens, over all its turns',
    description,
    scope: 'runs:read',
    params: sessionParams,
    query,
    responses,
    problems,
  },
  ({ params: { sessionId }, ...request }) => followed(sessionId, request),
);

type StreamRequest = Pick<Parameters<Route['answer']>[0], 'caller' | 'signal' | 'raw' | 'settings'> & {
  query: z.output<typeof query>;
  client: LonghaulClient;
};

/** Opens the stream of a run for as long as the caller may read it. */
async function followed(runId: string, { query: { cursor }, client, ...request }: StreamRequest): Promise<Response> {
  return runStreamResponse((from, signal) => client.handle(runId).stream({ signal, ...(from === undefined ? {} : { cursor: from }) }), {
    cursor: request.raw.headers.get('last-event-id') ?? cursor,
    ...openStream(request),
    report: request.settings.report,
    path: new URL(request.raw.url).pathname,
  });
}

/** The routes of streams. */
export const STREAM_ROUTES: readonly Route[] = [streamRun, streamSession];
