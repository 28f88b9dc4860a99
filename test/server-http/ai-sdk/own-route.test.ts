import {
  createUIMessageStream,
  createUIMessageStreamResponse,
  isToolUIPart,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from 'ai';
import { describe, expect, it, test, vi } from 'vitest';
import {
  type ChatTarget,
  toProblemResponse,
  toUIMessages,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type UIMessageStreamOptions,
} from '../../../src/server/protocols/ai-sdk/index.ts';
import type { StreamedResult } from '../../../src/client/index.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { ChatMetadata, Handler, Problem } from '../../../src/server/index.ts';
import { approvalIn, FakeChat, fetchFrom, pageOf, serviceOf, textOf, waitingCall } from './fake-chat.ts';
import { asks, call, decided, ended, item, recorded, result, says, textPiece } from './recorded-turn.ts';

const PATH = '/v1/agents/clerk/chat';

function sessionOf(chat: FakeChat) {
  return chat.client().session('clerk', { id: 'c1' });
}

/** An application with routes of its own for the page of a chat. It has no service. */
function routesOf(chat: ChatTarget, options: UIMessageStreamOptions = {}): Handler {
  return async (request) => {
    const posted: { posted?: unknown } = request.method === 'POST' ? { posted: await request.json() } : {};
    return toUIMessageStreamResponse(chat, { ...posted, signal: request.signal, ...options });
  };
}

const refund = waitingCall();

/** A session that answers its first message. */
function greeting(): FakeChat {
  const session = new FakeChat();
  session.onRequest = (name) => {
    if (name !== 'send') return;
    session.beginTurn();
    session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'), says(1, 'e1', 'Hello'), ended(2));
  };
  return session;
}

/** A session whose first message leads to a call that waits, and whose decision to the end of its turn. */
function refunding(): FakeChat {
  const session = new FakeChat();
  session.onRequest = (name) => {
    if (name === 'send') {
      session.beginTurn();
      session.publish(asks(0, 'Refund me'), says(1, 'e1', 'One moment', call('p1', { amount: 5 }, 'refund')));
      session.wait(refund);
    } else decide(session);
  };
  return session;
}

function decide(session: FakeChat): void {
  session.pending = [];
  session.publish(
    decided(2, { type: 'approve', callId: 'p1' }),
    item({ type: 'status', status: 'running' }),
    recorded(3, 'r', [result('p1', ['paid'])]),
    says(4, 'e2', 'Paid'),
    ended(5),
  );
}

async function chunksOf(stream: ReadableStream<UIMessageChunk> | undefined): Promise<UIMessageChunk[]> {
  return Array.fromAsync(stream ?? []);
}

describe("a route of one's own", () => {
  it('sends the message of a page to the session, and streams the answer into one message', async () => {
    const session = greeting();
    const page = pageOf(routesOf(sessionOf(session)));
    await page.sendMessage({ text: 'Hi' });
    expect(page).toMatchObject({ status: 'ready', events: ['finished: stop'] });
    expect(textOf(page)).toBe('Hello');
    expect(session.calls).toEqual([['send', 'clerk', { id: 'c1' }, 'Hi', page.messages[0]?.id]]);
    const metadata = page.messages.at(-1)?.metadata as ChatMetadata;
    expect(metadata).toMatchObject({ runId: 'c1', turn: 1, stopReason: 'final_answer', usage: { totalTokens: 5 }, cursor: 'event-2' });
  });

  it('answers with the same bytes and headers as the service', async () => {
    const body = JSON.stringify({ id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const [own, service] = await Promise.all(
      [routesOf(sessionOf(refunding()), { decideAs: 'ada' }), serviceOf(refunding())].map(async (handler) =>
        fetchFrom(handler)(PATH, init),
      ),
    );
    expect(await own?.text()).toBe(await service?.text());
    for (const header of ['content-type', 'x-vercel-ai-ui-message-stream', 'x-accel-buffering']) {
      expect(own?.headers.get(header)).toBe(service?.headers.get(header));
    }
  });

  it('asks for an approval, applies the decision of the page under the name of its user, and continues in the same message', async () => {
    const session = refunding();
    const page = pageOf(routesOf(sessionOf(session), { decideAs: 'ada' }));
    await page.sendMessage({ text: 'Refund me' });
    expect(page.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: 'tool-refund', state: 'approval-requested', input: { amount: 5 } });
    await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
    await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: stop']));
    expect(session.calls.map(([name]) => name)).toEqual(['send', 'approve']);
    expect(session.calls[1]?.[2]).toMatchObject({ by: 'ada' });
    expect(page.messages).toHaveLength(2);
    expect(page.messages.at(-1)?.parts.filter(isToolUIPart)).toMatchObject([{ state: 'output-available', output: 'paid' }]);
  });

  it('without a user who decides, stays open until someone else has, and refuses an answer of the page, but no new message', async () => {
    const session = refunding();
    const page = pageOf(routesOf(sessionOf(session)));
    const sending = page.sendMessage({ text: 'Refund me' });
    await expect.poll(() => page.messages.at(-1)?.parts.at(-1)).toMatchObject({ state: 'approval-requested' });
    const answered = structuredClone(page.messages);
    decide(session);
    await sending;
    expect(page.messages.at(-1)?.parts.filter(isToolUIPart)).toMatchObject([{ state: 'output-available' }]);

    const forging = pageOf(routesOf(sessionOf(session)), { messages: answered });
    await forging.addToolApprovalResponse({ id: approvalIn(answered.at(-1)), approved: true });
    await vi.waitFor(() => expect(forging.status).toBe('error'));
    expect(JSON.parse(forging.error?.message ?? '')).toMatchObject({ status: 403, code: 'forbidden' });
    session.onRequest = () => {
      session.beginTurn();
      session.publish(asks(6, 'Go on'), says(7, 'e3', 'Going on'), ended(8, 2));
    };
    await forging.sendMessage({ text: 'Go on' });
    expect([forging.status, textOf(forging)]).toEqual(['ready', 'Going on']);
    expect(session.calls.map(([name]) => name)).toEqual(['send', 'send']);
  });

  it('shows the answer in progress to a page that is loaded again, and has no content for an idle session', async () => {
    const session = new FakeChat();
    const routes = routesOf(sessionOf(session));
    expect((await fetchFrom(routes)(`${PATH}/c1/stream`)).status).toBe(204);
    expect(await toUIMessageStream(sessionOf(session))).toBeUndefined();
    session.isNew = false;
    session.beginTurn();
    session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
    const page = pageOf(routes);
    const resuming = page.resumeStream();
    await expect.poll(() => textOf(page)).toBe('Hel');
    session.publish(says(1, 'e1', 'Hello'), ended(2));
    await resuming;
    expect([page.status, textOf(page)]).toEqual(['ready', 'Hello']);
  });

  it('leaves the session alone if the page goes', async () => {
    const session = new FakeChat();
    session.onRequest = () => {
      session.beginTurn();
      session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
    };
    const page = pageOf(routesOf(sessionOf(session)));
    const sending = page.sendMessage({ text: 'Hi' });
    await expect.poll(() => textOf(page)).toBe('Hel');
    await page.stop();
    await sending;
    await expect.poll(() => session.open).toBe(0);
    expect(session.calls.map(([name]) => name)).toEqual(['send']);
  });

  it('follows the turn of a message that the application has sent', async () => {
    const chat = greeting();
    const session = sessionOf(chat);
    const receipt = await session.send('Hi', { id: 'm1' });
    const chunks = await chunksOf(await toUIMessageStream(session, { receipt }));
    expect(chunks.map(({ type }) => type)).toEqual([
      'start',
      'start-step',
      'text-start',
      'text-delta',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
    ]);
  });

  it('returns the earlier messages as the service does', async () => {
    const session = greeting();
    await pageOf(serviceOf(session)).sendMessage({ text: 'Hi' });
    const service = (await (await fetchFrom(serviceOf(session))(`${PATH}/c1`)).json()) as object;
    expect(await toUIMessages(sessionOf(session))).toEqual(service);
    expect(await toUIMessages(sessionOf(new FakeChat()))).toEqual({ messages: [] });
  });
});

describe('a failure', () => {
  it.each([
    ['a body that is not of useChat', { id: 'c1' }, 422, 'invalid_request'],
    ['a body without a message', { id: 'c1', messages: [{ id: 'a', role: 'assistant', parts: [] }] }, 422, 'invalid_request'],
  ])('of %s is the answer, as a problem', async (_, body, status, code) => {
    const response = await toUIMessageStreamResponse(sessionOf(new FakeChat()), { posted: body });
    expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/problem+json']);
    expect((await response.json()) as Problem).toMatchObject({ status, code });
    await expect(toUIMessageStream(sessionOf(new FakeChat()), { posted: body })).rejects.toThrow(expect.objectContaining({ code }));
  });

  it('of the session is the answer, and says when to try again', async () => {
    const session = new FakeChat();
    session.onRequest = () => {
      throw new LonghaulError('queue_full', 'The queue is full');
    };
    const posted = { id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
    const response = await toUIMessageStreamResponse(sessionOf(session), { posted });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1']);
  });

  it('inside the stream is a chunk with the text that the application gives, and is told once', async () => {
    const session = new FakeChat();
    session.isNew = false;
    session.beginTurn();
    session.publish(asks(0, 'Hi'));
    const told: unknown[] = [];
    const onError = (error: unknown): string => {
      told.push(error);
      return 'Try again later';
    };
    const failing = (await toUIMessageStreamResponse(sessionOf(session), { onError })).text();
    await expect.poll(() => session.open).toBe(1);
    session.fail(new Error('the disk is full'));
    expect(await failing).toContain('{"type":"error","errorText":"Try again later"}');
    expect(told).toEqual([new Error('the disk is full')]);
  });

  it('of the server breaks the connection, so that the page notices', async () => {
    const session = new FakeChat();
    session.onRequest = () => {
      session.beginTurn();
      session.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
    };
    const page = pageOf(routesOf(sessionOf(session), { onError: () => undefined }));
    const sending = page.sendMessage({ text: 'Hi' });
    await expect.poll(() => textOf(page)).toBe('Hel');
    session.fail(new LonghaulError('server_unreachable', 'No server'));
    await sending;
    expect(page.events).toEqual(['disconnected']);
  });

  it('of the turn is an error chunk without the recorded text, which the application gets', async () => {
    const error = 'MCP server "crm" cannot be reached: ECONNREFUSED 10.0.0.7';
    const session = new FakeChat();
    session.onRequest = () => {
      session.beginTurn();
      session.publish(asks(0, 'Hi'), ended(1, 1, { status: 'error', stopReason: 'error', error }));
    };
    const told: unknown[] = [];
    for (const [text, shown] of [
      [undefined, 'The turn has failed'],
      ['Try again later', 'Try again later'],
    ] as const) {
      const onError = (failure: unknown): string | undefined => {
        told.push(failure);
        return text;
      };
      const page = pageOf(routesOf(sessionOf(session), { onError }));
      await page.sendMessage({ text: 'Hi' });
      expect([page.status, page.error?.message]).toEqual(['error', shown]);
    }
    expect(told).toEqual([error, error].map((message) => new LonghaulError('internal', message)));
    const service = pageOf(serviceOf(session));
    await service.sendMessage({ text: 'Hi' });
    expect(service.error?.message).toBe('The turn has failed');
  });

  it('of the programmer is thrown, with the nearest option', async () => {
    const session = sessionOf(new FakeChat());
    const misspelt: object = { decidesAs: 'ada' };
    for (const make of [toUIMessageStream, toUIMessageStreamResponse])
      await expect(make(session, misspelt)).rejects.toThrow(/"decidesAs".*"decideAs"/);
    const receipt = await session.send('Hi', { id: 'm1' });
    await expect(toUIMessageStreamResponse(session, { posted: {}, receipt })).rejects.toThrow('give one of them');
    for (const wrong of [undefined, null, new FakeChat().client()])
      for (const make of [toUIMessages, toUIMessageStream, toUIMessageStreamResponse])
        await expect(make(wrong as never)).rejects.toThrow('give the session');
    await expect(toUIMessageStream(session, { receipt: {} as never })).rejects.toThrow('"receipt" is no receipt');
  });

  it.each([0, Number.NaN, '3', 2.5, null])('of a page of messages with %j as "limit" or "before" is a refusal', async (value) => {
    for (const name of ['limit', 'before']) {
      const wrong: object = { [name]: value };
      const error: unknown = await toUIMessages(sessionOf(new FakeChat()), wrong).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining(`"${name}"`) as string });
      expect(toProblemResponse(error).status).toBe(422);
    }
  });

  it('of another call to the session is a problem for the page, and one of the server without its details', async () => {
    expect(toProblemResponse(new LonghaulError('run_not_found', 'No run')).status).toBe(404);
    const told: unknown[] = [];
    const failed = new LonghaulError('server_unreachable', 'No server at 10.0.0.7');
    const response = toProblemResponse(failed, { onError: (error) => void told.push(error) });
    expect([response.status, await response.text()]).toEqual([503, expect.not.stringContaining('10.0.0.7')]);
    expect(told).toEqual([failed]);
  });
});

describe('a run that is not a session', () => {
  const running = item({ type: 'status', status: 'running' });
  const end = item({ type: 'end', result: { status: 'completed', stopReason: 'final_answer', error: null } as StreamedResult });

  /** A run with one answer, or with a call that waits. */
  function started(waits = false): { chat: FakeChat; run: ChatTarget } {
    const chat = new FakeChat();
    Object.assign(chat, { isRun: true, isNew: false, status: 'running' });
    chat.publish(asks(0, 'Refund me'), says(1, 'e1', waits ? '' : 'Hello', ...(waits ? [call('p1', { amount: 5 }, 'refund')] : [])));
    if (waits) chat.wait(refund);
    else chat.publish(end);
    chat.onRequest = () => {
      chat.pending = [];
      chat.publish(
        decided(2, { type: 'approve', callId: 'p1' }),
        running,
        recorded(3, 'r', [result('p1', ['paid'])]),
        says(4, 'e2', 'Paid'),
        end,
      );
    };
    return { chat, run: sessionOf(chat).run };
  }

  it('is one message, from its beginning, for a page that has sent its input and for one that comes later', async () => {
    const { run, chat } = started();
    for (const send of [(page: ReturnType<typeof pageOf>) => page.sendMessage({ text: 'Refund me' }), resumed]) {
      const page = pageOf(routesOf(run));
      await send(page);
      expect([page.status, textOf(page), page.messages.at(-1)?.id]).toEqual(['ready', 'Hello', 'c1-turn-1']);
    }
    expect(chat.calls).toEqual([]);
  });

  const resumed = (page: ReturnType<typeof pageOf>): Promise<void> => page.resumeStream();

  it('takes decisions of the page, and continues in the same message', async () => {
    const { run, chat } = started(true);
    const page = pageOf(routesOf(run, { decideAs: 'ada' }));
    await page.sendMessage({ text: 'Refund me' });
    await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
    await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: stop']));
    expect([textOf(page), page.messages.length]).toEqual(['Paid', 2]);
    expect(chat.calls.map(([name]) => name)).toEqual(['approve']);
  });

  it('refuses a second message, which it would lose, and a run that does not exist', async () => {
    const { run, chat } = started();
    const page = pageOf(routesOf(run));
    await page.sendMessage({ text: 'Refund me' });
    await page.sendMessage({ text: 'And then?' });
    expect(JSON.parse(page.error?.message ?? '')).toMatchObject({ code: 'invalid_request', detail: expect.stringContaining('session') });
    chat.isNew = true;
    expect((await toUIMessageStreamResponse(run)).status).toBe(404);
  });

  it('is not the handle of a session', async () => {
    await expect(toUIMessageStream(sessionOf(refundingSince()).run)).rejects.toThrow('is a session: give its handle');
  });

  function refundingSince(): FakeChat {
    const session = refunding();
    session.isNew = false;
    return session;
  }
});

test('the stream is one for the functions of the AI SDK', async () => {
  const stream = async (): Promise<ReadableStream<UIMessageChunk>> => {
    const session = sessionOf(greeting());
    const made = await toUIMessageStream(session, { receipt: await session.send('Hi', { id: 'm1' }) });
    if (made === undefined) throw new Error('No answer');
    return made;
  };
  let read: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: await stream() })) read = message;
  expect(read?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'Hello' }]);
  const response = createUIMessageStreamResponse({ stream: await stream() });
  expect(await response.text()).toContain('"delta":"Hel"');
  const own = await stream();
  const merged = createUIMessageStream({
    execute({ writer }) {
      writer.write({ type: 'data-note', data: 'first' });
      writer.merge(own);
    },
  });
  expect((await chunksOf(merged)).map(({ type }) => type)).toEqual(expect.arrayContaining(['data-note', 'start', 'text-delta', 'finish']));
});
