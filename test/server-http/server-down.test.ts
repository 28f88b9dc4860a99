import { Client, Connection } from '@temporalio/client';
import { afterAll, expect, test } from 'vitest';
import { LonghaulClient } from '../../src/client/index.ts';
import { createHandler } from '../../src/server/index.ts';
import { CALL_RETRY } from '../../src/temporal/server-connection.ts';
import { send } from './requests.ts';

/** Nothing listens at this port: each attempt to connect is refused. */
const connection = Connection.lazy({ address: '127.0.0.1:1', interceptors: CALL_RETRY });
const handler = createHandler(new LonghaulClient(new Client({ connection })), { limits: false, onError: () => undefined });

afterAll(() => connection.close());

/** Half of the time that a client retries its calls: a test that waits this long ends before. */
const TIMEOUT_MS = 9_000;

const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const started = { agent: 'clerk', input: 'Q' };

test.concurrent.each<[string, object]>([
  ['/v1/runs', started],
  ['/v1/runs', { ...started, runId: 'mine', ifExists: 'return' }],
  ['/v1/runs', { ...started, runId: 'mine', ifExists: 'restartFailed' }],
  ['/v1/runs', { ...started, previousRunId: 'earlier' }],
  ['/v1/programs', { program: 'triage' }],
  ['/v1/programs', { program: 'triage', resume: { run: 'earlier' } }],
  ['/v1/sessions', { agent: 'clerk' }],
  ['/v1/sessions/s/messages', { agent: 'clerk', content: 'Hi' }],
  ['/v1/sessions/other/ask', { agent: 'clerk', content: 'Hi' }],
  ['/v1/runs/r/messages', { content: 'Hi' }],
  ['/v1/runs/r/retry', {}],
  ['/v1/agents/clerk/chat', { id: 'c', messages: [message] }],
  ['/v1/responses', { model: 'clerk', input: 'Q' }],
  ['/v1/responses', { model: 'clerk', input: 'Q', stream: true }],
  ['/v1/responses', { model: 'clerk', input: 'Q', background: true }],
  ['/v1/chat/completions', { model: 'clerk', messages: [{ role: 'user', content: 'Q' }] }],
])(
  'without a Temporal server, POST %s %o is answered with 503 soon, and with the time to try again',
  async (path, body) => {
    const response = await send(handler, 'POST', path, { body });
    const found = (await response.json()) as { code?: string; error?: { code: string } };
    expect([response.status, found.code ?? found.error?.code]).toEqual([503, 'server_unreachable']);
    expect(response.headers.get('retry-after')).toBe('5');
    expect(response.headers.get('content-type')).toBe(found.error === undefined ? 'application/problem+json' : 'application/json');
  },
  TIMEOUT_MS,
);
