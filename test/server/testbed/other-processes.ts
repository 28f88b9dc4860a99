import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { chatChunk, CHAT_USAGE } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, type RecordedRequest, startFakeOpenAI } from '../../fakes/openai-server.ts';

/** The number of tool results after which the model of these tests answers. */
const TOOL_CALLS = 3;

/**
 * A model over HTTP that calls `work` some times, by default three, and then answers, depending on the conversation alone. `gate` may delay an
 * answer.
 */
export async function startWorkingModel(gate: (request: RecordedRequest) => Promise<void>, toolCalls = TOOL_CALLS): Promise<FakeOpenAI> {
  return startFakeOpenAI(async (reply, request) => {
    await gate(request);
    const done = resultsIn(request);
    const call = { index: 0, id: `call_${done}`, type: 'function', function: { name: 'work', arguments: `{"n":${done}}` } };
    const delta =
      done < toolCalls ? { role: 'assistant', content: `step ${done}`, tool_calls: [call] } : { role: 'assistant', content: 'all done' };
    reply.events(chatChunk(delta), chatChunk({}, done < toolCalls ? 'tool_calls' : 'stop'), { choices: [], usage: CHAT_USAGE });
    reply.raw('data: [DONE]\n\n');
    reply.end();
  });
}

/** The number of tool results in a request. */
export function resultsIn({ body }: RecordedRequest): number {
  const messages = Array.isArray(body['messages']) ? (body['messages'] as { role?: string }[]) : [];
  return messages.filter((message) => message.role === 'tool').length;
}

/** The server behind the tool `work`, over HTTP, which records the idempotency key of each call. `gate` may delay an answer. */
export async function startToolServer(
  gate: (path: string) => Promise<void>,
): Promise<{ url: string; calls: string[]; keys: (string | undefined)[]; close(): Promise<void> }> {
  const calls: string[] = [];
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    calls.push(path);
    keys.push(request.headers['idempotency-key']?.toString());
    void gate(path).then(() => response.end(`did ${path}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    keys,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const ENDS_WITH_PARENT = fileURLToPath(new URL('./ends-with-parent.ts', import.meta.url));

/** Starts a worker in a separate process, by default `worker-process.ts`, and waits until it polls. It ends with this process. */
export async function startWorkerProcess(
  environment: Record<string, string>,
  script = fileURLToPath(new URL('./worker-process.ts', import.meta.url)),
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import', ENDS_WITH_PARENT, script], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

/** Kills a process with SIGKILL. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
