import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { LonghaulClient } from '../../../../../src/client/index.ts';
import { ask, defineProgram, unit } from '../../../../../src/define/program/index.ts';
import { createHandler, type Handler } from '../../../../../src/server/index.ts';
import { callTool, say, scriptedModel } from '../../../../../src/testing/index.ts';
import { clerk } from '../../../approvals/decision-agents.ts';
import { assistant } from '../../../testbed/agents.ts';
import { Testbed, until } from '../../../testbed/testbed.ts';
import type { Victim } from './access-line.ts';
import { type Credentials, credentialsAround } from './credentials.ts';
import { keyOf } from './send-line.ts';

/** The text that no other caller may read. */
export const SECRET = 'the plans of Ada';

const note = defineProgram({ name: 'note', model: 'scripted/model-1', units: [unit('u', {}, [ask('Note', 'Write a note')])] });

/** A service on a real server, the runs of a principal, and the credentials of those that attack them. */
export interface AccessWorld extends AsyncDisposable {
  testbed: Testbed;
  handler: Handler;
  victim: Victim;
  credentials: Credentials;
}

/** Opens a service with a run, a session and a chat of a principal, which wait for decisions. */
export async function openWorld(): Promise<AccessWorld> {
  const testbed = await Testbed.open();
  const [tenant, user] = [`acme-${randomUUID()}`, 'ada'];
  const entries = [1, 2, 3].map((amount) => callTool('refund', { amount }));
  const secrets = Array.from({ length: 4 }, () => say(SECRET));
  const model = scriptedModel([...secrets, ...entries, ...Array.from({ length: 200 }, () => say('ok'))]);
  await testbed.work({ agents: [assistant, clerk], programs: [note], providers: { scripted: model } });
  const credentials = await credentialsAround({ tenant, user });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });
  const { authenticate, tokenSecrets } = credentials;
  const handler = createHandler(client, { authenticate, tokenSecrets, agents: [assistant, clerk], programs: [note] });
  const own = client.as({ tenant, user });
  const waits = async (runId: string): Promise<{ callId: string; digest: string }> => {
    await until(async () => (await own.handle(runId).approvals()).pending.length === 1, `${runId} waits`);
    const [pending] = (await own.handle(runId).approvals()).pending;
    return { callId: pending?.callId ?? '', digest: pending?.digest ?? '' };
  };
  const keyedRuns = await startKeyed(handler, tenant, await credentials.withScopes(['runs:write']));
  for (const id of Object.values(keyedRuns)) expect((await own.handle(id).result()).output).toBe(SECRET);
  const { runId } = await own.start(clerk, { input: SECRET });
  const call = await waits(runId);
  const sessionId = `session-${randomUUID()}`;
  await own.session(clerk, { id: sessionId }).send(SECRET);
  await waits(sessionId);
  const chatId = `page-${randomUUID()}`;
  const chatRunId = await openChat(handler, chatId, await credentials.withScopes(['runs:write']));
  await waits(chatRunId);
  const victim = { tenant, user, runId, keyedRuns, ...call, sessionId, chatId, chatRunId };
  return { testbed, handler, victim, credentials, [Symbol.asyncDispose]: () => testbed[Symbol.asyncDispose]() };
}

/** Starts a run that ends with the secret for each route that takes a key, and returns their ids by the path of the route. */
async function startKeyed(handler: Handler, tenant: string, credentials: string): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const path of ['/v1/runs', '/v1/programs', '/v1/responses', '/v1/chat/completions']) {
    const headers = {
      authorization: `Bearer ${credentials}`,
      'content-type': 'application/json',
      'idempotency-key': keyOf(path, { tenant }),
    };
    const body = JSON.stringify({ agent: 'assistant', input: `Tell me ${SECRET}` });
    const response = await handler(new Request('http://localhost/v1/runs', { method: 'POST', body, headers }));
    expect(response.status).toBe(201);
    ids[path] = ((await response.json()) as { runId: string }).runId;
  }
  return ids;
}

/** Sends the first message of a chat, and returns the run of its session. */
async function openChat(handler: Handler, id: string, key: string): Promise<string> {
  const body = JSON.stringify({ id, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: SECRET }] }] });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await handler(new Request('http://localhost/v1/agents/clerk/chat', { method: 'POST', body, headers }));
  expect(response.status).toBe(200);
  // The stream stays open while the call waits, because this caller may not decide about it.
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const runId = /"runId":"([^"]+)"/.exec(text)?.[1];
    if (runId !== undefined) return runId;
  }
  throw new Error('The chat does not name its run');
}

/** The length and the status of the history of each run of the principal: any effect on one of them changes it. */
export async function stateOf({ testbed, victim: { runId, sessionId, chatRunId } }: AccessWorld): Promise<unknown[]> {
  const { workflow } = testbed.client.temporal;
  return Promise.all(
    [runId, sessionId, chatRunId].map(async (id) => {
      const { status, historyLength, runId: executionId } = await workflow.getHandle(id).describe();
      return { id, status: status.name, historyLength, executionId };
    }),
  );
}

/** Everything that is recorded of each run of the principal. */
export async function recordsOf({ testbed, victim: { runId, sessionId, chatRunId } }: AccessWorld): Promise<unknown[]> {
  return Promise.all(
    [runId, sessionId, chatRunId].map(async (id) => {
      const events: unknown[] = [];
      for await (const event of testbed.client.handle(id).events()) events.push(event);
      return { events, approvals: await testbed.client.handle(id).approvals() };
    }),
  );
}
