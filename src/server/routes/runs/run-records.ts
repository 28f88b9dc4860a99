import { z } from 'zod';
import type { Event } from '../../../core/domain/record.ts';
import { ndjsonResponse } from '../../requests/ndjson.ts';
import { defineRoute, type Route } from '../../routing/route.ts';
import { savedContext } from '../../schemas/content.ts';
import { eventsPage, exportLine, treeEvent } from '../../schemas/run-record.ts';
import { ok, pageSize, READ_PROBLEMS, runParams, wholeNumber } from '../route-parts.ts';

const DEFAULT_PAGE = 100;

/** Bytes of JSON after which a page of events ends, approximately. */
const PAGE_BYTES = 1_000_000;

const events = defineRoute(
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

const treeEvents = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/tree/events',
    id: 'getTreeEvents',
    tag: 'runs',
    summary: 'Read the events of a run and of all runs below it',
    scope: 'runs:read',
    params: runParams,
    responses: {
      200: {
        description: 'An event on each line, by their times, each with its run and its offset there.',
        schema: treeEvent,
        contentType: 'application/x-ndjson',
      },
    },
    problems: READ_PROBLEMS,
  },
  async ({ params, client, ...request }) => ndjsonResponse(client.handle(params.runId).events({ tree: true }), request),
);

const exported = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/export',
    id: 'exportRun',
    tag: 'runs',
    summary: 'Export the complete run',
    scope: 'runs:read',
    params: runParams,
    responses: {
      200: {
        description: 'A line for each record. The last line is a summary: a body without one is not whole.',
        schema: exportLine,
        contentType: 'application/x-ndjson',
      },
    },
    problems: READ_PROBLEMS,
  },
  async ({ params, client, ...request }) => ndjsonResponse(client.handle(params.runId).export(), request),
);

const save = defineRoute(
  {
    method: 'GET',
    path: '/v1/runs/{runId}/save',
    id: 'saveRun',
    tag: 'runs',
    summary: 'Read the context of a run as a document, from which another run can start',
    scope: 'runs:read',
    params: runParams,
    responses: ok(savedContext, 'The saved context.'),
    problems: READ_PROBLEMS,
  },
  async ({ params, client }) => ({ status: 200, body: await client.handle(params.runId).save() }),
);

/** The routes that read the record of a run. */
export const RUN_RECORD_ROUTES: readonly Route[] = [events, treeEvents, exported, save];
