import { Client } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { withCallTimeout } from '../../src/temporal/server-connection.ts';
import { LonghaulClient, type RunHandle } from '../../src/client/index.ts';
import { runTimes } from '../../src/cli/render/run-view.ts';
import { errorCode } from '../../src/core/domain/errors.ts';

type Answers = Record<string, (request: never) => unknown>;

/** A client of a server that gives these answers by method, and an error of gRPC to all other requests. */
function clientOf(code: number, details: string, answers: Answers = {}): LonghaulClient {
  const failed = Object.assign(new Error(`${code} ${details}`), { code, details, metadata: { get: () => [] } });
  const service = new Proxy(answers, {
    get: (known, method) => async (request: never) => {
      const answer = typeof method === 'string' ? known[method] : undefined;
      if (answer === undefined) throw failed;
      return answer(request);
    },
  });
  const run = (_: unknown, work: () => unknown): unknown => work();
  const connection = {
    options: { address: 'temporal.example:7233' },
    workflowService: service,
    operatorService: service,
    ensureConnected: async () => undefined,
    withDeadline: run,
    withMetadata: run,
    withApiKey: run,
    withAbortSignal: run,
  };
  return new LonghaulClient(new Client({ connection: connection as never, namespace: 'default' }));
}

async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  return Array.fromAsync(values);
}

const OF_RUN: Record<string, (run: RunHandle<unknown>) => Promise<unknown>> = {
  result: (run) => run.result({ steps: true }),
  status: (run) => run.status(),
  context: (run) => run.context(),
  steps: (run) => run.steps(),
  events: (run) => all(run.events()),
  'events, following': (run) => all(run.events({ follow: true })),
  export: (run) => all(run.export()),
  delete: (run) => run.delete(),
  approvals: (run) => run.approvals(),
  approve: (run) => run.approve('c1', { timeout: 50 }),
  reject: (run) => run.reject('c1', { timeout: 50 }),
  respond: (run) => run.respond('c1', 'yes', { timeout: 50 }),
  revoke: (run) => run.revoke('d1', { timeout: 50 }),
  raise: (run) => run.raise({ totalTokens: 10 }, { timeout: 50 }),
  send: (run) => run.send('Hello', { timeout: 50 }),
  pause: (run) => run.pause({ timeout: 50 }),
  resume: (run) => run.resume({ timeout: 50 }),
  cancel: (run) => run.cancel('enough'),
};

const OF_CLIENT: Record<string, (client: LonghaulClient) => Promise<unknown>> = {
  start: (client) => client.start('clerk', { input: 'Hello' }),
  run: (client) => client.run('clerk', { input: 'Hello' }),
  list: (client) => all(client.list()),
  approvals: (client) => all(client.approvals({ follow: true })),
  forget: (client) => client.forget({ user: 'ada', without: ['payloadStore', 'archive', 'memory', 'streams'] }),
  ...Object.fromEntries(
    Object.entries(OF_RUN).map(([name, ask]) => [`handle.${name}`, (client: LonghaulClient) => ask(client.handle('r1'))]),
  ),
};

async function failureOf(work: Promise<unknown>): Promise<Error & { code?: unknown }> {
  return work.then(
    (value) => Promise.reject(new Error(`it resolved with ${JSON.stringify(value)}`)),
    (error: Error) => error,
  );
}

describe('a server that cannot be reached after the client connected', () => {
  test.each(Object.entries(OF_CLIENT))('is server_unreachable with its address in %s', async (_, ask) => {
    const error = await failureOf(ask(clientOf(14, 'No connection established')));
    expect(error).toMatchObject({ name: 'LonghaulError', code: 'server_unreachable' });
    expect(error.message).toMatch(/^The Temporal server at "temporal\.example:7233" no longer answers \(.*No connection established/);
  });

  test('gives the same error if it leaves a call without an answer', async () => {
    expect(errorCode(await failureOf(clientOf(4, 'Deadline exceeded').handle('r1').status()))).toBe('server_unreachable');
  });

  test('gives an Update an error that says that it may have been accepted, and the id to resend it with', async () => {
    const error = await failureOf(clientOf(14, 'gone').handle('r1').send('Hello', { id: 'm1', timeout: 50 }));
    expect(error.message).toContain('It may have been accepted: send it again with the same id, "m1"');
  });
});

test('a closed client throws an error that says so', async () => {
  const client = clientOf(14, 'gone', {
    describeWorkflowExecution: () => {
      throw new Error('Channel has been shut down');
    },
  });
  await expect(client.handle('r1').cancel('enough')).rejects.toThrow('The client is closed: connect() makes another one');
});

test.each([
  ['/temporal.api.workflowservice.v1.WorkflowService/DescribeWorkflowExecution', 30_000],
  ['/temporal.api.workflowservice.v1.WorkflowService/GetWorkflowExecutionHistory', 60_000],
])('a call of %s is given up after %d ms, unless the caller has a deadline', (path, ms) => {
  const before = Date.now();
  const { deadline } = withCallTimeout<Parameters<typeof withCallTimeout>[0]>({ method_definition: { path } });
  expect(Number(deadline)).toBeGreaterThanOrEqual(before + ms);
  expect(Number(deadline)).toBeLessThanOrEqual(Date.now() + ms);
  expect(withCallTimeout({ method_definition: { path }, deadline: 5 }).deadline).toBe(5);
});

describe('an impossible id', () => {
  test.each(['', '  ', 7, null, 'a\ud83d'])('%j is refused before anything is sent', async (id) => {
    const client = clientOf(14, 'asked');
    const runId = id as string;
    const works = [async () => client.handle(runId), () => client.start('clerk', { input: 'Hello', runId }), () => runTimes(client, runId)];
    for (const work of works) {
      const message = expect.stringMatching(/^The run id is .*: write the id of a run/) as string;
      expect(await failureOf(work())).toMatchObject({ code: 'invalid_input', message });
    }
  });

  test('or is refused by the server, with a message of Longhaul', async () => {
    const error = await failureOf(clientOf(3, 'WorkflowId length exceeds limit.').handle('x'.repeat(2_000)).status());
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining('(WorkflowId length exceeds limit.)') });
  });
});

describe('a workflow of the user', () => {
  const described = {
    workflowExecutionInfo: {
      execution: { workflowId: 'report-1', runId: 'e1' },
      type: { name: 'report' },
      status: 1,
      startTime: {},
      historyLength: { toNumber: () => 3 },
      historySizeBytes: { toNumber: () => 300 },
      taskQueue: 'q',
    },
    executionConfig: {},
  };
  const client = clientOf(12, 'not asked', { describeWorkflowExecution: () => described, queryWorkflow: unknownQuery });

  test.each(['result', 'status', 'context', 'steps', 'events', 'events, following', 'export', 'delete', 'approvals', 'cancel'])(
    'is not a run for %s',
    async (name) => {
      const error = await failureOf(OF_RUN[name]?.(client.handle('report-1')) ?? Promise.resolve());
      expect(error).toMatchObject({
        code: 'not_a_run',
        message:
          '"report-1" in namespace "default" is a workflow of type "report", and no run of an agent or a program: "npx longhaul show report-1" lists the runs that it has started',
      });
    },
  );
});

function unknownQuery(): never {
  const details = 'unknown queryType longhaul. KnownQueryTypes=[]';
  throw Object.assign(new Error(details), { code: 3, details, metadata: { get: () => [] } });
}
