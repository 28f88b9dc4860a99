import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import { defined } from '../../../core/domain/json.ts';
import type { Event } from '../../../core/domain/record.ts';
import type { Shape } from '../../../core/domain/shape.ts';
import { defineRoute, ok, pageSize, READ_PROBLEMS, readRoute, type Route, runParams, sessionParams, wholeNumber } from '../../route.ts';
import { eventsPage, exportLine, treeEvent } from '../../schemas/run-record.ts';
import { streamItem } from '../../schemas/run-views.ts';
import { savedContext } from '../../schemas/values.ts';
import { ndjsonResponse, openStream, runStreamResponse } from '../../streams.ts';

const DEFAULT_PAGE = 100;

/** Bytes of JSON after which a page of events ends, approximately. */
const PAGE_BYTES = 1_000_000;

const eventsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/events',
    id: 'getEvents',
    tag: 'runs',
    summary: 'Read a page of the events of a run',
    scope: 'runs:read',
    params: runParams,
    query: z.strictObject({
      from: wholeNumber(0).exactOptional().describe('The offset of the first event. Default 0.'),
      limit: pageSize.exactOptional().describe(`The largest number of events. Default ${DEFAULT_PAGE}.`),
    }),
    responses: ok(eventsPage, 'The events, in the order of their offsets.'),
    problems: READ_PROBLEMS,
  },
  async ({ params: { runId }, query: { from = 0, limit = DEFAULT_PAGE }, client }) => {
    const page: Event[] = [];
    let bytes = 0;
    let isWhole = false;
    for await (const one of client.handle(runId).events({ from })) {
      isWhole = page.length === limit || bytes >= PAGE_BYTES;
      if (isWhole) break;
      bytes += JSON.stringify(one).length;
      page.push(one);
    }
    return { status: 200, body: { runId, from, events: page, ...(isWhole ? { next: from + page.length } : {}) } };
  },
);

/** Defines a route whose response has a line for each record of a run. */
function linesRoute(
  definition: { path: string; id: string; summary: string },
  lines: { description: string; schema: z.ZodType | Shape },
  read: (run: RunHandle) => AsyncGenerator<unknown>,
): Route {
  return defineRoute(
    {
      ...definition,
      method: 'GET',
      tag: 'runs',
      scope: 'runs:read',
      params: runParams,
      responses: { 200: { ...lines, contentType: 'application/x-ndjson' } },
      problems: READ_PROBLEMS,
    },
    async ({ params, client, ...request }) => ndjsonResponse(read(client.handle(params.runId)), request),
  );
}

const treeEventsRoute = linesRoute(
  { path: '/v1/runs/{runId}/tree/events', id: 'getTreeEvents', summary: 'Read the events of a run and of all runs below it' },
  { description: 'An event on each line, by their times, each with its run and its offset there.', schema: treeEvent },
  (run) => run.events({ tree: true }),
);

const exportRoute = linesRoute(
  { path: '/v1/runs/{runId}/export', id: 'exportRun', summary: 'Export the complete run' },
  { description: 'A line for each record. The last line is a summary: a body without one is not whole.', schema: exportLine },
  (run) => run.export(),
);

const saveRoute = readRoute(
  {
    path: '/v1/runs/{runId}/save',
    id: 'saveRun',
    summary: 'Read the context of a run as a document, from which another run can start',
  },
  { schema: savedContext, description: 'The saved context.' },
  (run) => run.save(),
);

/** The routes that read the record of a run. */
export const RUN_RECORD_ROUTES: readonly Route[] = [eventsRoute, treeEventsRoute, exportRoute, saveRoute];

const streamQuery = z.strictObject({
  cursor: z.string().exactOptional().describe('The cursor behind which the stream begins. The header `Last-Event-ID` goes before it.'),
  token: z.string().exactOptional().describe('A token for the run, for clients that send no headers.'),
});

const streamResponses = {
  200: {
    description:
      'Server-sent events: the id of each is its cursor, its event the type of the item. Only `end` ends a stream. A `problem` is the last ' +
      'event of a run that cannot be followed any more.',
    schema: streamItem,
    contentType: 'text/event-stream',
  },
  204: { description: 'The cursor is that of the end: nothing comes any more.' },
};

const STREAM_DESCRIPTION =
  'A client that is cut off comes back with the last id it has got, in `Last-Event-ID` or `cursor`, to any instance of the service. ' +
  'Disconnecting ends nothing.';

const STREAM_PROBLEMS = [...READ_PROBLEMS, 'invalid_cursor', 'run_terminated', 'run_timed_out'] as const;

const streamRunRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/stream',
    id: 'streamRun',
    tag: 'runs',
    summary: 'Follow a run as it happens',
    description: STREAM_DESCRIPTION,
    scope: 'runs:read',
    params: runParams,
    query: streamQuery,
    responses: streamResponses,
    problems: STREAM_PROBLEMS,
  },
  ({ params: { runId }, ...request }) => followRun(runId, request),
);

const streamSessionRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions/{sessionId}/stream',
    id: 'streamSession',
    tag: 'sessions',
    summary: 'Follow a session as it happens, over all its turns',
    description: STREAM_DESCRIPTION,
    scope: 'runs:read',
    params: sessionParams,
    query: streamQuery,
    responses: streamResponses,
    problems: STREAM_PROBLEMS,
  },
  ({ params: { sessionId }, ...request }) => followRun(sessionId, request),
);

type StreamRequest = Pick<Parameters<Route['answer']>[0], 'caller' | 'signal' | 'raw' | 'settings'> & {
  query: z.output<typeof streamQuery>;
  client: LonghaulClient;
};

/** Opens the stream of a run for as long as the caller may read it. */
async function followRun(runId: string, { query: { cursor }, client, ...request }: StreamRequest): Promise<Response> {
  return runStreamResponse((from, signal) => client.handle(runId).stream({ signal, ...defined({ cursor: from }) }), {
    cursor: request.raw.headers.get('last-event-id') ?? cursor,
    ...openStream(request),
    report: request.settings.report,
    path: new URL(request.raw.url).pathname,
  });
}

export const STREAM_ROUTES: readonly Route[] = [streamRunRoute, streamSessionRoute];
