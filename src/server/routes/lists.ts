import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ListPage, PageOptions } from '../../client/visibility.ts';
import { errorCode } from '../../core/domain/errors.ts';
import { canonicalJson, type JsonObject } from '../../core/domain/json.ts';
import { identityOf, type Principal } from '../../core/domain/run.ts';
import { RequestError } from '../problems.ts';
import { defineRoute, flag, ok, pageSize, type Route } from '../route.ts';
import { approvalsPage, runsPage, runStatus, sessionsPage } from '../schemas/run-views.ts';

const pageParameters = {
  limit: pageSize.exactOptional().describe('The size of the page. Default 50.'),
  cursor: z.string().min(1).exactOptional().describe('The `next` of the page before.'),
};

const principalParameters = {
  tenant: z.string().exactOptional().describe('Only for a caller that acts for no principal itself.'),
  user: z.string().exactOptional().describe('Only for a caller that acts for no principal itself.'),
};

const startTime = z.iso.datetime({ offset: true }).exactOptional();

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

const runsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs',
    id: 'listRuns',
    tag: 'runs',
    summary: 'List runs, newest first',
    scope: 'runs:read',
    query: z.strictObject({
      ...runFilters,
      waitingFor: z.string().exactOptional().describe('With a call of this tool that waits for a decision.'),
      waiting: flag.exactOptional().describe('True: with any call that waits for a decision.'),
      ...pageParameters,
    }),
    responses: ok(runsPage, 'A page. It may be empty although there is a next one.'),
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { limit, cursor, waiting, ...given }, caller, client }) => {
    const filter = { ...given, ...(waiting === true && given.waitingFor === undefined ? { waitingFor: true as const } : {}) };
    const list = { name: 'runs', principal: caller.principal, filter };
    return { status: 200, body: await readPage(list, pageRequest(limit, cursor), (at) => client.listPage(filter, at)) };
  },
);

const sessionsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions',
    id: 'listSessions',
    tag: 'sessions',
    summary: 'List sessions, newest first',
    scope: 'runs:read',
    query: z.strictObject({ ...runFilters, ...pageParameters }),
    responses: ok(sessionsPage, 'A page. It may be empty although there is a next one.'),
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { limit, cursor, ...filter }, caller, client }) => {
    const list = { name: 'sessions', principal: caller.principal, filter };
    return { status: 200, body: await readPage(list, pageRequest(limit, cursor), (at) => client.sessionsPage(filter, at)) };
  },
);

const approvalsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/approvals',
    id: 'listApprovals',
    tag: 'approvals',
    summary: 'List the calls of all runs that wait for a decision',
    scope: 'runs:read',
    query: z.strictObject({
      agent: z.string().exactOptional(),
      tool: z.string().exactOptional(),
      ...principalParameters,
      ...pageParameters,
    }),
    responses: ok(approvalsPage, 'The calls of a page of runs: `limit` is a number of runs.'),
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { limit, cursor, ...filter }, caller, client }) => {
    const list = { name: 'approvals', principal: caller.principal, filter };
    return { status: 200, body: await readPage(list, pageRequest(limit, cursor), (at) => client.approvalsPage(filter, at)) };
  },
);

function pageRequest(limit: number | undefined, cursor: string | undefined): { limit?: number; cursor?: string } {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}

/** The routes that list things of several runs. */
export const LIST_ROUTES: readonly Route[] = [runsRoute, sessionsRoute, approvalsRoute];

/** The parameters of a page. */
interface PageParameters {
  limit?: number;
  cursor?: string;
}

/** Reads a page of a list, and returns the body of its response. Throws `invalid_cursor`. */
async function readPage<Item>(
  list: List,
  { limit = DEFAULT_PAGE_SIZE, cursor }: PageParameters,
  read: (page: PageOptions) => Promise<ListPage<Item>>,
): Promise<Record<string, unknown>> {
  if (cursor === undefined) return pageBody(list, await read({ pageSize: limit }));
  const after = positionOf(list, cursor);
  try {
    return pageBody(list, await read({ pageSize: limit, after }));
  } catch (error) {
    // The filter was accepted for the page before, so the position is wrong.
    throw errorCode(error) === 'invalid_input' ? invalidCursor('the server refuses its position', error) : error;
  }
}

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

/** Returns the position of a cursor. Throws `invalid_cursor` for one that is none, or that of another list. */
function positionOf(list: List, cursor: string): string {
  const read = CURSOR.safeParse(decodedCursor(cursor));
  if (read.success && read.data.of === digestOf(list, read.data.at)) return read.data.at;
  throw invalidCursor(read.success ? 'it is that of another list, filter or caller' : 'it is none that the service has given');
}

/** Returns the refusal of a cursor. */
function invalidCursor(why: string, cause?: unknown): RequestError {
  return new RequestError('invalid_cursor', `The cursor leads nowhere: ${why}. Begin without one, and take each from the page before`, {
    errors: [{ parameter: 'cursor', detail: why }],
    cause,
  });
}

/** Returns the members of a page by their name, with the cursor of the next one. */
function pageBody<Item>(list: List, { items, next }: ListPage<Item>): Record<string, unknown> {
  return { [list.name]: items, ...(next === undefined ? {} : { next: cursorOf(list, next) }) };
}

function decodedCursor(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown;
  } catch {
    return undefined;
  }
}

function digestOf({ name, principal, filter }: List, position: string): string {
  const whole = { name, position, ...identityOf(principal ?? {}), filter: JSON.parse(JSON.stringify(filter)) as JsonObject };
  return createHash('sha256').update(canonicalJson(whole)).digest('base64url').slice(0, 22);
}
