import { expecting } from '../../schemas/expecting.ts';
import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { ContentItem, SpilledContent } from '../../../core/domain/content.ts';
import { type ErrorCode, LonghaulError, UsageError } from '../../../core/domain/errors.ts';
import { defined, isJsonObject } from '../../../core/domain/json.ts';
import type { Event } from '../../../core/domain/record.ts';
import { isTerminal } from '../../../core/domain/run.ts';
import type { Shape } from '../../../core/domain/shape.ts';
import { waitMs, waitParameter, withinWait } from '../../requests.ts';
import {
  defineRoute,
  flag,
  ok,
  pageSize,
  READ_PROBLEMS,
  readRoute,
  type Route,
  runParams,
  sessionParams,
  wholeNumber,
} from '../../route.ts';
import {
  callDetails,
  contextPage,
  eventsPage,
  exportLine,
  pinnedAgent,
  runResult,
  runTimeline,
  runTree,
  statusView,
  stepRequest,
  stepsBody,
  streamItem,
  trace,
  treeEvent,
} from '../../schemas/run-views.ts';
import { component, jsonValue, savedContext } from '../../schemas/values.ts';
import { ndjsonResponse, openStream, runStreamResponse } from '../../streams.ts';

const status = readRoute(
  { path: '/v1/runs/{runId}', id: 'getRun', summary: 'Read the status of a run' },
  { schema: statusView, description: 'The status, with steps, usage and limits.' },
  (run) => run.status(),
);

const result = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/result',
    id: 'getResult',
    tag: 'runs',
    summary: 'Read the result of a run, or wait for it',
    description: 'A run that has not ended within the wait continues: ask again. A caller that stops waiting ends nothing.',
    scope: 'runs:read',
    params: runParams,
    query: z.strictObject({
      wait: waitParameter.exactOptional(),
      steps: flag.exactOptional().describe('True: with all steps.'),
      trace: flag.exactOptional().describe('True: with the trace.'),
    }),
    responses: {
      200: { description: 'The result, whatever its status.', schema: runResult },
      202: { description: 'The run has not ended: its status.', schema: statusView },
    },
    problems: [...READ_PROBLEMS, 'run_terminated', 'run_timed_out'],
  },
  async ({ params, query: { wait, steps = false, trace: withTrace = false }, client, signal, ...request }) => {
    const handle = client.handle(params.runId);
    const ended = await withinWait(waitMs(wait), { ...request, signal }, (options) =>
      handle.result({ ...options, steps, trace: withTrace }),
    );
    if (ended !== undefined) return { status: 200, body: ended };
    const view = await handle.status();
    return isTerminal(view.status) ? { status: 200, body: await handle.result({ steps, trace: withTrace }) } : { status: 202, body: view };
  },
);

const context = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/context',
    id: 'getContext',
    tag: 'runs',
    summary: 'Read the context of a run, with a page of its events',
    scope: 'runs:read',
    params: runParams,
    query: z.strictObject({ from: wholeNumber(0).exactOptional().describe('The offset of the first event. Default 0.') }),
    responses: ok(contextPage, 'The context. The next page begins at `from` and the number of events.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, query, client }) => ({ status: 200, body: await client.handle(params.runId).context(query) }),
);

const steps = readRoute(
  { path: '/v1/runs/{runId}/steps', id: 'getSteps', summary: 'Read the steps of a run' },
  { schema: stepsBody, description: 'The steps that are recorded so far.' },
  async (run) => ({ runId: run.runId, steps: await run.steps() }),
);

const traceOfRun = readRoute(
  { path: '/v1/runs/{runId}/trace', id: 'getTrace', summary: 'Read the trace of a run' },
  { schema: trace, description: 'The trace so far.' },
  (run) => run.trace(),
);

const tree = readRoute(
  { path: '/v1/runs/{runId}/tree', id: 'getTree', summary: 'Read a run with all runs below it' },
  { schema: runTree, description: 'The tree.' },
  (run) => run.tree(),
);

/** The routes that read what a run is and what it has done. */
export const READ_RUN_ROUTES: readonly Route[] = [status, result, context, steps, traceOfRun, tree];

const snapshotRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/snapshot',
    id: 'getSnapshot',
    tag: 'runs',
    summary: 'Read the agent of a run as it is pinned',
    description: 'Instructions, tools with their schemas, settings and limits. A run that was handed over has had several agents.',
    scope: 'runs:read',
    params: runParams,
    query: z.strictObject({
      at: wholeNumber(0).exactOptional().describe('An offset: returns the agent at this event. Default: the current agent.'),
    }),
    responses: ok(pinnedAgent, 'The agent.'),
    problems: [...READ_PROBLEMS, 'busy'],
  },
  async ({ params, query, client }) => ({ status: 200, body: await client.handle(params.runId).snapshot(query) }),
);

const callRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/calls/{callId}',
    id: 'getCall',
    tag: 'runs',
    summary: 'Read one call of a run, whole',
    description: 'Of several calls with the same id, that is the newest.',
    scope: 'runs:read',
    params: runParams.extend({ callId: z.string().min(1).describe('The id of the call.') }),
    responses: ok(callDetails, 'The call, with its arguments, schema, decisions and result.'),
    problems: [...READ_PROBLEMS, 'call_not_found'],
  },
  async ({ params: { runId, callId }, client }) => ({ status: 200, body: await client.handle(runId).call(callId) }),
);

const timelineRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/timeline',
    id: 'getTimeline',
    tag: 'runs',
    summary: 'Read where the time of a run went',
    description:
      'Made from the history alone. A span is a model call, a tool call, a workflow task, the wait for a person or a child; the wait for a ' +
      'worker and earlier attempts are members of it. Children have separate timelines.',
    scope: 'runs:read',
    isShared: true,
    params: runParams,
    query: z.strictObject({
      from: wholeNumber(0)
        .exactOptional()
        .describe('The `next` of the page before: the number of events recorded when its spans began. Default 0.'),
      limit: pageSize.exactOptional().describe('The number of spans after which the page ends. Default 500.'),
    }),
    responses: ok(runTimeline, 'A page of the spans, in the order in which they began.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, query, client }) => ({ status: 200, body: await client.handle(params.runId).timeline(query) }),
);

const requestRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/steps/{step}/request',
    id: 'getStepRequest',
    tag: 'runs',
    summary: 'Read what the model was asked in a step',
    description:
      'Built from the record by the code of the worker. `unknown` names what the record does not hold. `wire` has the body in the form of the ' +
      'API of the provider, if the service knows the provider of the model.',
    scope: 'runs:read',
    params: runParams.extend({ step: wholeNumber(1).describe('The number of the step.') }),
    query: z.strictObject({
      diff: z.literal('previous').exactOptional().describe('`previous`: also the difference to the request of the step before.'),
    }),
    responses: ok(stepRequest, 'The request.'),
    problems: [...READ_PROBLEMS, 'unknown_step'],
  },
  async ({ params: { runId, step }, query, client, settings: { providers } }) => ({
    status: 200,
    body: await client.handle(runId).request(step, { ...query, providers }),
  }),
);

/** The routes that read one part of a run. */
export const RUN_DETAIL_ROUTES: readonly Route[] = [snapshotRoute, callRoute, requestRoute, timelineRoute];

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
      'event of a run that can no longer be followed.',
    schema: streamItem,
    contentType: 'text/event-stream',
  },
  204: { description: 'The cursor is at the end: nothing follows.' },
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

const spilledParams = runParams.extend({
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/, expecting('64 hexadecimal digits'))
    .describe('The `sha256` of `spilled`, as the event or the step has it.'),
});

const SPILLED_PROBLEMS: readonly ErrorCode[] = [...READ_PROBLEMS, 'spilled_not_found', 'spilled_unavailable', 'payload_store_failed'];

/**
 * Reads the content of a tool result that was too large for the conversation, or of a file that a model has made. A caller names it by its
 * digest: only what tools and models of this very run have returned is read.
 */
const spilledRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/spilled/{sha256}',
    id: 'getSpilled',
    tag: 'runs',
    summary: 'Read the whole content of a tool result that was spilled, or of a file that a model has made',
    scope: 'runs:read',
    params: spilledParams,
    responses: ok(component('SpilledResult', z.object({ content: z.array(jsonValue) })), 'The content.'),
    problems: SPILLED_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: { content: await readSpilled(client, params) } }),
);

/** What a browser may show of a content that a model has made: it runs no code. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

/** Whatever the content is, a browser that opens it as a page gives it no rights. */
const SANDBOX = "default-src 'none'; sandbox";

/** Reads a generated file unchanged, so that a page can show it. */
const fileRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/files/{sha256}',
    id: 'getFile',
    tag: 'runs',
    summary: 'Read the bytes of a file that a model has made',
    description: 'For the `src` of an image in a page. What a browser could run is a download.',
    scope: 'runs:read',
    params: spilledParams,
    query: z.strictObject({ token: z.string().exactOptional().describe('A token for the run, for clients that send no headers.') }),
    responses: { 200: { description: 'The bytes.', schema: z.unknown(), contentType: '*/*' } },
    problems: SPILLED_PROBLEMS,
  },
  async ({ params, client }) => {
    const [part] = await readSpilled(client, params);
    const { data, mediaType } = isJsonObject(part) ? part : {};
    if (typeof data !== 'string' || typeof mediaType !== 'string') throw notSpilled(params.runId);
    const type = mediaType.toLowerCase();
    const isShown = SHOWN.test(type);
    return new Response(Buffer.from(data, 'base64'), {
      headers: {
        'content-type': isShown ? type : 'application/octet-stream',
        'content-disposition': isShown ? 'inline' : 'attachment',
        'content-security-policy': SANDBOX,
      },
    });
  },
);

/** The routes that read what a run has in the payload store. */
export const SPILLED_ROUTES: readonly Route[] = [spilledRoute, fileRoute];

/** Returns content of a run by its digest. Throws `spilled_not_found` if no tool and no model of the run has returned it. */
async function readSpilled(client: LonghaulClient, { runId, sha256 }: { runId: string; sha256: string }): Promise<unknown[]> {
  const spilled = await spilledIn(client.handle(runId).events(), sha256);
  if (spilled === undefined) throw notSpilled(runId);
  return spilledContentOf(client, spilled);
}

function notSpilled(runId: string): LonghaulError {
  return new LonghaulError('spilled_not_found', `Run "${runId}" has spilled no content of that digest`);
}

async function spilledIn(events: AsyncIterable<Event>, sha256: string): Promise<SpilledContent | undefined> {
  for await (const { content, given, usage } of events) {
    // What a caller has given as an earlier conversation names any content it likes.
    if (given) continue;
    const found = content.flatMap((item) => spilledOf(item, usage !== undefined)).find((one) => one.sha256 === sha256);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns what an item has in the payload store. A message has something there only if a model of this run has said it. */
function spilledOf(item: ContentItem, isOfModel: boolean): SpilledContent[] {
  if (item.type === 'tool_result') return item.spilled === undefined ? [] : [item.spilled];
  if (item.type !== 'message' || !isOfModel || typeof item.content === 'string') return [];
  return item.content.flatMap((part) => (part.type === 'text' || part.spilled === undefined ? [] : [part.spilled]));
}

async function spilledContentOf(client: LonghaulClient, spilled: SpilledContent): Promise<unknown[]> {
  try {
    return await client.readSpilled(spilled);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new LonghaulError('spilled_unavailable', 'The service has no payload store', { cause: error });
  }
}
