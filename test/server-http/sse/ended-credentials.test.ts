import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LonghaulClient } from '../../../src/client/index.ts';
import { apiKeys, createApiKey } from '../../../src/server/auth/api-keys.ts';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { FakeChat } from '../ai-sdk/fake-chat.ts';
import { asks, textPiece } from '../ai-sdk/recorded-turn.ts';
import { memoryApiKeys } from '../auth/fake-credentials.ts';
import { clerk } from '../openai/served-run.ts';
import { answer, clientWithRun, type JsonRequest, send } from '../requests.ts';

const SCOPES = ['runs:read', 'runs:write'] as const;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A run that does nothing after its first item, and the number of its readers. */
class IdleRun {
  readers = 0;

  async *stream({ signal }: { signal: AbortSignal }): AsyncGenerator<object> {
    this.readers += 1;
    try {
      yield { type: 'status', status: 'running', cursor: 'c1' };
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      signal.throwIfAborted();
    } finally {
      this.readers -= 1;
    }
  }
}

/** A client of one run, whose answer no one has finished, and the number of its readers. */
interface Followed {
  client: LonghaulClient;
  readers: () => number;
}

function ofRun(): Followed {
  const run = new IdleRun();
  const temporal = { options: { namespace: 'default' }, workflowService: { describeWorkflowExecution: async () => ({}) } };
  const methods = { stream: (options: { signal: AbortSignal }) => run.stream(options) };
  return { client: clientWithRun(methods, { start: async () => ({ runId: 'r' }), temporal }), readers: () => run.readers };
}

function ofChat(): Followed {
  const session = new FakeChat();
  session.isNew = false;
  session.beginTurn();
  session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
  return { client: session.client(), readers: () => session.open };
}

interface StreamedRoute {
  method: string;
  path: string;
  body?: object;
  of: () => Followed;
  /** The first thing that a reader gets. */
  begins: string;
  /** The end of the stream, so that no client mistakes what it has for the whole stream. */
  ends: 'quietly' | 'broken off' | 'with an error';
}

const ROUTES: StreamedRoute[] = [
  { method: 'GET', path: '/v1/runs/r/stream', of: ofRun, begins: 'event: status', ends: 'quietly' },
  { method: 'GET', path: '/v1/sessions/r/stream', of: ofRun, begins: 'event: status', ends: 'quietly' },
  { method: 'GET', path: '/v1/agents/clerk/chat/c1/stream', of: ofChat, begins: 'Hel', ends: 'broken off' },
  {
    method: 'POST',
    path: '/v1/responses',
    body: { model: 'clerk', input: 'Hi', stream: true },
    of: ofRun,
    begins: 'response.created',
    ends: 'with an error',
  },
];

/** Opens a stream, and reads it in the background. */
async function follow(handler: Handler, { method, path, body }: StreamedRoute, headers: Record<string, string> = {}) {
  const request: JsonRequest = body === undefined ? { headers } : { headers, body };
  const response = await send(handler, method, path, request);
  const got = { status: response.status, text: '', isOver: false, failure: undefined as unknown };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) got.text += decoder.decode(chunk);
  };
  void read()
    .catch((error: unknown) => (got.failure = error))
    .finally(() => (got.isOver = true));
  await vi.advanceTimersByTimeAsync(0);
  return got;
}

function expectCut(got: Awaited<ReturnType<typeof follow>>, { ends }: StreamedRoute): void {
  expect(got.isOver).toBe(true);
  expect(String(got.failure)).toContain(ends === 'broken off' ? 'the stream was cut' : 'undefined');
  // Neither an end nor a problem: a client that has new credentials comes back.
  expect(got.text).not.toMatch(/event: (?:end|problem)|\[DONE\]|response\.completed/);
  expect(/"type":"error"/.test(got.text)).toBe(ends === 'with an error');
}

describe.each(ROUTES)('$method $path', (route) => {
  it('ends when the credentials of its caller expire, and not before', async () => {
    const { client, readers } = route.of();
    const caller: Caller = { id: 'k', principal: 'all', scopes: SCOPES, expiresAt: Date.now() + 60_000 };
    const reported: unknown[] = [];
    const options: HandlerOptions = { agents: [clerk], authenticate: () => caller, onError: (error) => void reported.push(error) };
    const got = await follow(createHandler(client, options), route);
    expect([got.status, got.text]).toEqual([200, expect.stringContaining(route.begins)]);
    await vi.advanceTimersByTimeAsync(59_999);
    expect([got.isOver, readers()]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expectCut(got, route);
    expect([readers(), reported]).toEqual([0, []]);
  });

  it('ends within half a minute after the key of its caller is revoked, and is refused from then on', async () => {
    const { client, readers } = route.of();
    const store = memoryApiKeys();
    const { key, text } = await createApiKey(store, { name: 'reader', principal: 'all', scopes: SCOPES });
    const other = await createApiKey(store, { name: 'other', principal: 'all', scopes: SCOPES });
    const handler = createHandler(client, { agents: [clerk], authenticate: apiKeys(store) });
    const headers = { authorization: `Bearer ${text}` };
    const got = await follow(handler, route, headers);
    const kept = await follow(handler, route, { authorization: `Bearer ${other.text}` });
    expect([got.status, got.text]).toEqual([200, expect.stringContaining(route.begins)]);
    await vi.advanceTimersByTimeAsync(100_000);
    expect([got.isOver, readers()]).toEqual([false, 2]);
    await store.revoke(key.id, Date.now());
    await vi.advanceTimersByTimeAsync(30_000);
    expectCut(got, route);
    expect([kept.isOver, readers()]).toEqual([false, 1]);
    const { method, path, body } = route;
    const again = await answer(handler, method, path, body === undefined ? { headers } : { headers, body });
    expect(again.status).toBe(401);
  });
});
