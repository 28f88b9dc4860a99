import { z } from 'zod';
import { isTerminal } from '../../../core/domain/run.ts';
import { waitMs, waitParameter, withinWait } from '../../requests.ts';
import { defineRoute, flag, ok, READ_PROBLEMS, readRoute, type Route, runParams, wholeNumber } from '../../route.ts';
import { runTree, stepsBody, trace } from '../../schemas/run-record.ts';
import { contextPage, runResult, statusView } from '../../schemas/run-views.ts';

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
