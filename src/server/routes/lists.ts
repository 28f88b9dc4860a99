import { z } from 'zod';
import { readPage } from '../paging/read-page.ts';
import { defineRoute, type Route } from '../routing/route.ts';
import { approvalsPage } from '../schemas/approvals.ts';
import { runsPage, runStatus, sessionsPage } from '../schemas/run-views.ts';
import { flag, ok, pageSize } from './route-parts.ts';

const page = {
  limit: pageSize.exactOptional().describe('The size of the page. Default 50.'),
  cursor: z.string().min(1).exactOptional().describe('The `next` of the page before.'),
};

const whose = {
  tenant: z.string().exactOptional().describe('Only for a caller that acts for no principal itself.'),
  user: z.string().exactOptional().describe('Only for a caller that acts for no principal itself.'),
};

const time = z.iso.datetime({ offset: true }).exactOptional();

const filters = {
  agent: z.string().exactOptional(),
  status: runStatus.exactOptional(),
  tag: z.string().exactOptional(),
  startedAfter: time.describe('Started then or later.'),
  startedBefore: time.describe('Started before.'),
  ...whose,
};

const runs = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs',
    id: 'listRuns',
    tag: 'runs',
    summary: 'List runs, newest first',
    scope: 'runs:read',
    query: z.strictObject({
      ...filters,
      waitingFor: z.string().exactOptional().describe('With a call of this tool that waits for a decision.'),
      waiting: flag.exactOptional().describe('True: with any call that waits for a decision.'),
      ...page,
    }),
    responses: ok(runsPage, 'A page. It may be empty although there is a next one.'),
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { limit, cursor, waiting, ...given }, caller, client }) => {
    const filter = { ...given, ...(waiting === true && given.waitingFor === undefined ? { waitingFor: true as const } : {}) };
    const list = { name: 'runs', principal: caller.principal, filter };
    return { status: 200, body: await readPage(list, sized(limit, cursor), (at) => client.listPage(filter, at)) };
  },
);

const sessions = defineRoute(
  {
    method: 'GET',
    path: '/v1/sessions',
    id: 'listSessions',
    tag: 'sessions',
    summary: 'List sessions, newest first',
    scope: 'runs:read',
    query: z.strictObject({ ...filters, ...page }),
    responses: ok(sessionsPage, 'A page. It may be empty although there is a next one.'),
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { limit, cursor, ...filter }, caller, client }) => {
    const list = { name: 'sessions', principal: caller.principal, filter };
    return { status: 200, body: await readPage(list, sized(limit, cursor), (at) => client.sessionsPage(filter, at)) };
  },
);

const approvals = defineRoute(
  {
    method: 'GET',
    path: '/v1/approvals',
    id: 'listApprovals',
    tag: 'approvals',
    summary: 'List the calls of all runs that wait for a decision',
    scope: 'runs:read',
    query: z.strictObject({ agent: z.string().exactOptional(), tool: z.string().exactOptional(), ...whose, ...page }),
    responses: ok(approvalsPage, 'The calls of a page of runs: `limit` is a number of runs.'),
    problems: ['invalid_cursor', 'invalid_input'],
  },
  async ({ query: { limit, cursor, ...filter }, caller, client }) => {
    const list = { name: 'approvals', principal: caller.principal, filter };
    return { status: 200, body: await readPage(list, sized(limit, cursor), (at) => client.approvalsPage(filter, at)) };
  },
);

function sized(limit: number | undefined, cursor: string | undefined): { limit?: number; cursor?: string } {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}

/** The routes that list things of several runs. */
export const LIST_ROUTES: readonly Route[] = [runs, sessions, approvals];
