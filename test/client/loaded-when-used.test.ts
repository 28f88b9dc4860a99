import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

const source = (path: string): string => new URL(`../../src/${path}`, import.meta.url).href;

/**
 * A service on a server in memory, which has one run and a worker that answers queries, but no history. It prints the files that each
 * of its parts has loaded.
 */
const SERVICE = `
import { registerHooks } from 'node:module';

let files = [];
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) });
const loaded = {};
async function part(name, work) {
  files = [];
  await work();
  loaded[name] = files.filter((url) => url.startsWith(${JSON.stringify(source(''))})).map((url) => url.slice(${source('').length}));
}

const { Client } = await import('@temporalio/client');
const { defaultPayloadConverter } = await import('@temporalio/common');
const { temporal } = (await import('@temporalio/proto')).default;
const result = { version: 1, runId: 'run-1', agentName: 'clerk', output: 'done', status: 'completed', stopReason: 'final_answer', usage: {} };
const status = { version: 1, runId: 'run-1', agentName: 'clerk', status: 'running' };
const closed = { workflowExecutionCompletedEventAttributes: { result: { payloads: [defaultPayloadConverter.toPayload(result)] } } };
const within = (_, work) => work();
const connection = {
  workflowService: { getWorkflowExecutionHistory: async () => ({ history: { events: [closed] } }) },
  withDeadline: within,
  withAbortSignal: within,
};
const info = { execution: { workflowId: 'run-1', runId: 'execution-1' }, type: { name: 'agentRun' }, status: 1, startTime: { seconds: 1, nanos: 0 }, historyLength: 9 };
const workflow = [{
  startWithDetails: async () => ({ runId: 'execution-1', eagerlyStarted: false }),
  describe: async () => temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.fromObject({ workflowExecutionInfo: info }),
  query: async ({ queryType }) => (queryType === 'status' ? status : undefined),
}];

let client, handle;
await part('import', async () => {
  const { LonghaulClient } = await import(${JSON.stringify(source('client/index.ts'))});
  client = new LonghaulClient(new Client({ connection, interceptors: { workflow } }));
});
await part('use', async () => {
  handle = await client.start('clerk', { input: 'Hello', runId: 'run-1' });
  const { output } = await handle.result();
  const { status } = await handle.status();
  if (output !== 'done' || status !== 'running') throw new Error(output + ' ' + status);
});
await part('history', () => handle.save().catch(() => undefined));
console.log(JSON.stringify(loaded));
`;

/** The files of `src` that each part of the service has loaded. */
let loaded: Record<'import' | 'use' | 'history', string[]>;

beforeAll(async () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', SERVICE], { cwd });
  loaded = JSON.parse(stdout) as typeof loaded;
}, 60_000);

test('a service that starts runs, awaits their results and reads the status of a running one loads no code that reads histories', () => {
  expect(loaded.import).toContain('client/longhaul-client.ts');
  expect([...loaded.import, ...loaded.use].filter((file) => /^(history|core\/loop)\//.test(file))).toEqual([]);
});

test('what reads histories is loaded when it is used', () => {
  expect(loaded.history).toEqual(expect.arrayContaining(['client/recorded-views.ts', 'history/read-run.ts']));
});
