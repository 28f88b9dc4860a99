import { principalOf } from '../auth/caller.ts';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RUN_SORTS } from '../../client/client-options.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { type UnreadRun, unreadError } from '../../client/unread-runs.ts';
import type { ListPage, PageOptions } from '../../client/visibility.ts';
import { errorCode } from '../../core/domain/errors.ts';
import { canonicalJson, type JsonObject, parsedJson } from '../../core/domain/json.ts';
import { identityOf, type Principal } from '../../core/domain/run.ts';
import { problemOf, reportedRequest, RequestError } from '../problems.ts';
import { defineRoute, flag, ok, pageSize, type Route, type RouteTag } from '../route.ts';
import type { ServerSettings } from '../server-options.ts';
import { expecting } from '../schemas/expecting.ts';
import { approvalsPage, runCounts, runsPage, runStatus, sessionsPage } from '../schemas/run-views.ts';

const pageParameters = {
  limit: pageSize.exactOptional().describe('The size of the page. Default 50.'),
  cursor: z.string().min(1).exactOptional().describe('The `next` of the page before.'),
};

const principalParameters = {
  tenant: z.string().exactOptional().describe('Only for a caller that acts for no principal itself.'),
  user: z.string().exactOptional().describe('Only for a caller that acts for no principal itself.'),
};

const startTime = z.iso.datetime({ offset: true, ...expecting('a time such as "2026-11-26T22:06:35Z"') }).exactOptional();

const runFilters = {
  agent: z.string().exactOptional(),
  status: runStatus.exactOptional(),
  tag: z.string().exactOptional(),
  startedAfter: startTime.describe('Started then or later.'),
  startedBefore: startTime.describe('Started before.'),
  ...principalParameters,
};

/** The number of items of a page that names none. */
const DEFAULT_PAGE_SIZE = 50;

const CURSOR = z.strictObject({ at: z.string().min(1), of: z.string() });

/** Defines the route of a list whose items are returned page by page. `name`: the member of the page with the items. */
function paged<Filter extends z.ZodObject>(
  { name, filter, page, ...definition }: PagedList<Filter>,
  read: (client: LonghaulClient, filter: z.output<Filter>, page: PageOptions) => Promise<ListPage<unknown>>,
): Route {
  const query = filter.extend(pageParameters);
  return defineRoute(
    {
      ...definition,
      method: 'GET',
      path: `/v1/${name}`,
      scope: 'runs:read',
      isShared: true,
      query,
      responses: page,
      problems: ['invalid_cursor', 'invalid_input'],
    },
    async ({ query: given, caller, client, settings, raw }) => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, ...conditions } = given as { limit?: number; cursor?: string };
      const filtered = conditions as z.output<Filter>;
      const list = { name, principal: principalOf(caller), filter: filtered };
      const after = cursor === undefined ? {} : { after: positionOf(list, cursor) };
      try {
        const { items, next, unread, ...facts } = await read(client, filtered, { pageSize: limit, ...after });
        const body = {
          [name]: items,
          ...facts,
          ...(next === undefined ? {} : { next: cursorOf(list, next) }),
          ...(unread === undefined ? {} : { unread: unread.map((run) => toldRun(run, raw, settings)) }),
        };
        return { status: 200, body };
      } catch (error) {
        // The filter was accepted for the page before, so the position is wrong.
        if (cursor === undefined || errorCode(error) !== 'invalid_input') throw error;
        throw invalidCursor('the server refuses its position', error);
      }
    },
  );
}

/** Returns a run that could not be read with the reason that its problem would have: the service has logged what the caller must not see. */
function toldRun(run: UnreadRun, request: Request, { report }: ServerSettings): UnreadRun {
  const { problem } = problemOf(unreadError(run), reportedRequest(request), report);
  return { ...run, message: problem.detail };
}

interface PagedList<Filter> {
  name: string;
  id: string;
  tag: RouteTag;
  summary: string;
  filter: Filter;
  page: ReturnType<typeof ok>;
}

const runsRoute = paged(
  {
    name: 'runs',
    id: 'listRuns',
    tag: 'runs',
    summary: 'List runs',
    filter: z.strictObject({
      ...runFilters,
      waitingFor: z.string().exactOptional().describe('With a call of this tool that waits for a decision.'),
      waiting: flag.exactOptional().describe('True: with any call that waits for a decision.'),
      amounts: flag.exactOptional().describe('True: with the steps, tokens and cost of each run, which is read for that.'),
      sort: z
        .enum(RUN_SORTS)
        .exactOptional()
        .describe(
          'The order. Default `started`: runs that have not ended come first, the newest first among them, and then the others by their ' +
            'end, the latest first. The others put the first 1,000 runs of that order that match in order, the most first.',
        ),
    }),
    page: ok(runsPage, 'A page. It may be empty although there is a next one.'),
  },
  (client, { waiting, ...filter }, page) =>
    client.listPage({ ...filter, ...(waiting === true && filter.waitingFor === undefined ? { waitingFor: true } : {}) }, page),
);

const countsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/counts',
    id: 'countRuns',
    tag: 'runs',
    summary: 'Count runs by their status or their agent',
    scope: 'runs:read',
    query: z.strictObject({
      by: z
        .enum(['agent', 'status'])
        .describe('What is counted. For `agent`: the agents of the service, and of the first 1,000 runs of the list.'),
      ...runFilters,
    }),
    responses: ok(runCounts, 'The numbers of runs, the largest first. `total` also includes runs with other values.'),
    problems: ['invalid_input'],
  },
  async ({ query: { by, ...filter }, caller, client, settings }) => {
    const known = [...settings.agents, ...settings.programs].map(({ name }) => name);
    const agents = caller.agents === undefined ? known : known.filter((name) => caller.agents?.includes(name));
    return { status: 200, body: await client.counts(by, filter, { agents }) };
  },
);

const sessionsRoute = paged(
  {
    name: 'sessions',
    id: 'listSessions',
    tag: 'sessions',
    summary: 'List sessions',
    filter: z.strictObject(runFilters),
    page: ok(sessionsPage, 'A page. It may be empty although there is a next one.'),
  },
  (client, filter, page) => client.sessionsPage(filter, page),
);

const approvalsRoute = paged(
  {
    name: 'approvals',
    id: 'listApprovals',
    tag: 'approvals',
    summary: 'List the calls of all runs that wait for a decision',
    filter: z.strictObject({ agent: z.string().exactOptional(), tool: z.string().exactOptional(), ...principalParameters }),
    page: ok(approvalsPage, 'The calls of a page of runs: `limit` is a number of runs.'),
  },
  (client, filter, page) => client.approvalsPage(filter, page),
);

/** The routes that list things of several runs. */
export const LIST_ROUTES: readonly Route[] = [runsRoute, countsRoute, sessionsRoute, approvalsRoute];

/** A list: its name, the principal whose runs it has, and its filter. */
interface List {
  name: string;
  principal: Principal | undefined;
  filter: object;
}

/**
 * Returns the cursor of the next page of a list. It holds the position and a digest of both, so that any process takes it, and
 * only for that list. Nothing in it is secret, and it grants nothing: each page is filtered by the principal of its caller.
 */
function cursorOf(list: List, position: string): string {
  return Buffer.from(JSON.stringify({ at: position, of: digestOf(list, position) })).toString('base64url');
}

/** Returns the position of a cursor. Throws `invalid_cursor` for an invalid one, or one of another list. */
function positionOf(list: List, cursor: string): string {
  const read = CURSOR.safeParse(parsedJson(Buffer.from(cursor, 'base64url').toString()));
  if (read.success && read.data.of === digestOf(list, read.data.at)) return read.data.at;
  throw invalidCursor(read.success ? 'it belongs to another list, filter or caller' : 'the service has not issued it');
}

/** Returns the refusal of a cursor. */
function invalidCursor(why: string, cause?: unknown): RequestError {
  return new RequestError('invalid_cursor', `The cursor leads nowhere: ${why}. Begin without one, and take each from the page before`, {
    errors: [{ parameter: 'cursor', detail: why }],
    cause,
  });
}

function digestOf({ name, principal, filter }: List, position: string): string {
  const whole = { name, position, ...identityOf(principal ?? {}), filter: JSON.parse(JSON.stringify(filter)) as JsonObject };
  return createHash('sha256').update(canonicalJson(whole)).digest('base64url').slice(0, 22);
}
