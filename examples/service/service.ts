// A service that answers questions with an agent: POST /questions starts a run, GET /questions/<id> asks how it stands,
// DELETE /questions/<id> cancels it. The service holds no state: it can be restarted, or run ten times, at any moment.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { errorCode, errorMessage } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';

export function createService(client: LonghaulClient): Server {
  return createServer((request, response) => {
    answer(client, request).then(
      ({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => {
        const code = errorCode(error);
        const status = code === 'run_not_found' ? 404 : code === 'invalid_input' || error instanceof URIError ? 400 : 500;
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: errorMessage(error) }));
      },
    );
  });
}

interface Answer {
  status: number;
  body: unknown;
}

async function answer(client: LonghaulClient, request: IncomingMessage): Promise<Answer> {
  const [path = ''] = (request.url ?? '').split('?');
  if (path === '/questions' && request.method === 'POST') return ask(client, await readJson(request));
  const [, id] = /^\/questions\/([^/]+)$/.exec(path) ?? [];
  if (id === undefined) return refused(404, 'There is only POST /questions, and GET and DELETE /questions/<id>');
  const runId = decodeURIComponent(id);
  // The namespace has other runs, too.
  if (!runId.startsWith('question-')) return refused(404, `There is no question "${runId}"`);
  const handle = client.handle(runId);
  if (request.method === 'DELETE') return { status: 202, body: { cancel: await handle.cancel('the caller withdrew the question') } };
  if (request.method !== 'GET') return refused(405, 'A question takes GET and DELETE');

  const { status, currentStep, usage } = await handle.status();
  if (status === 'pending_confirmation') {
    const { pending } = await handle.approvals();
    return { status: 200, body: { status, waitsFor: pending.map(({ toolName, arguments: args }) => ({ toolName, arguments: args })) } };
  }
  if (status === 'running' || status === 'paused') return { status: 200, body: { status, step: currentStep, tokens: usage.totalTokens } };
  const result = await handle.result({ timeout: '5s' });
  return { status: 200, body: { status: result.status, answer: result.output, summary: result.summary() } };
}

async function ask(client: LonghaulClient, body: unknown): Promise<Answer> {
  if (typeof body !== 'object' || body === null) return refused(400, 'The body is not a JSON object');
  const { question, customer, requestId } = body as Record<string, unknown>;
  if (typeof question !== 'string' || question === '') return refused(400, '"question" is missing: a text');
  if (typeof requestId !== 'string' || requestId === '') return refused(400, '"requestId" is missing: choose an id for this question');
  // The caller's own request id makes a repeated POST the same run instead of a second one.
  const handle = await client.start('clerk', {
    input: question,
    deps: typeof customer === 'string' ? { customer } : {},
    runId: `question-${requestId}`,
    ifExists: 'return',
  });
  return { status: 202, body: { id: handle.runId } };
}

function refused(status: number, error: string): Answer {
  return { status, body: { error } };
}

/** Parses the body of a request; undefined if it is not JSON. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
