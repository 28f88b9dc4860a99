import { z } from 'zod';
import { defineRoute, ok, pageSize, READ_PROBLEMS, type Route, runParams, wholeNumber } from '../../route.ts';
import { callDetails, pinnedAgent, runTimeline, stepRequest } from '../../schemas/run-views.ts';

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
      at: wholeNumber(0).exactOptional().describe('An offset: the agent that acted there. Default: the one that acts now.'),
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
      'worker and earlier attempts are members of it. Children have timelines of their own.',
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
