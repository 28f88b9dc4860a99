// Compiled with the types that openapi-typescript makes of the document, in a project of its own.
import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '', headers: { authorization: 'Bearer test' } });

const { data: started, response } = await client.POST('/v1/runs', {
  params: { header: { 'Idempotency-Key': 'k' } },
  body: { agent: 'clerk', input: [{ type: 'text', text: 'Hello' }], limits: { steps: 3, deadline: '5m' } },
});
const runId: string = started?.runId ?? '';

const result = await client.GET('/v1/runs/{runId}/result', { params: { path: { runId }, query: { wait: '1s' } } });
// The data is that of a run which has ended, or the status of one which has not.
const output: unknown = result.data !== undefined && 'output' in result.data ? result.data.output : undefined;

const decided = await client.POST('/v1/runs/{runId}/approvals/{callId}', {
  params: { path: { runId, callId: 'c/1' } },
  body: { type: 'approve', digest: 'd' },
});
const code: 'already_decided' | undefined = decided.error?.code === 'already_decided' ? decided.error.code : undefined;

// @ts-expect-error -- a body without its agent is refused by the compiler.
await client.POST('/v1/runs', { body: { input: 'Q' } });

process.stdout.write(JSON.stringify({ status: response.status, runId, output, code, refused: decided.response.status }));
