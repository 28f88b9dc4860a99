// A service that answers questions with an agent: POST /questions starts a run, GET /questions/<id> asks how it stands,
// DELETE /questions/<id> cancels it. The service holds no state: it can be restarted, or run ten times, at any moment.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { errorCode, errorMessage } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { z } from 'zod';

export function createService(client: LonghaulClient): Server {
  return createServer((request, response) => {
    answer(client, request).then(
      ({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => {
        const code = errorCode(error);
        const status = code === 'run_not_found' ? 404 : code === 'invalid_input' ? 400 : 500;
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: errorMessage(error) }));
      },
    );
  });
}

async function answer(client: LonghaulClient, request: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const [, resource, id] = (request.url ?? '').split('/');
  if (resource !== 'questions') return { status: 404, body: { error: 'There is only /questions' } };

  if (request.method === 'POST') {
    const { question, customer, requestId } = await readJson(request);
    // The caller's own request id makes a repeated POST the same run instead of a second one.
    const handle = await client.start('clerk', {
      input: question ?? '',
      deps: customer === undefined ? {} : { customer },
      runId: `question-${requestId}`,
      ifExists: 'return',
    });
    return { status: 202, body: { id: handle.runId } };
  }

  const handle = client.handle(id ?? '');
  if (request.method === 'DELETE') return { status: 202, body: { cancel: await handle.cancel('the caller withdrew the question') } };

  const { status, currentStep, usage } = await handle.status();
  if (status === 'running') return { status: 200, body: { status, step: currentStep, tokens: usage.totalTokens } };
  const result = await handle.result({ timeout: '5s' });
  return { status: 200, body: { status: result.status, answer: result.output, summary: result.summary() } };
}

async function readJson(request: IncomingMessage): Promise<Partial<Record<string, string>>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return z.record(z.string(), z.string()).parse(JSON.parse(text));
}
