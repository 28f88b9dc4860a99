import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { LonghaulClient } from '../../../../../src/client/index.ts';
import type { Identity } from '../../../../../src/core/domain/run.ts';
import { ask, defineProgram, unit } from '../../../../../src/define/program/index.ts';
import { apiKeys, createApiKey } from '../../../../../src/server/auth/api-keys.ts';
import { anyOf, type Authenticate, type Caller, type Scope, SCOPES } from '../../../../../src/server/auth/caller.ts';
import { jwt } from '../../../../../src/server/auth/jwt.ts';
import { RunTokens } from '../../../../../src/server/auth/run-tokens.ts';
import { createHandler, type Handler } from '../../../../../src/server/index.ts';
import { callTool, say, scriptedModel } from '../../../../../src/testing/index.ts';
import { fakeIssuer, memoryApiKeys } from '../../../../server-http/auth/fake-credentials.ts';
import { clerk } from '../../../approvals/decision-agents.ts';
import { assistant } from '../../../testbed/agents.ts';
import { Testbed, until } from '../../../testbed/testbed.ts';
import type { AccessLine, Expected, Victim } from './access-lines.ts';

const ISSUER = 'https://issuer.example/';
const OTHER_AGENTS = ['other'];

/** The credentials of callers, by their defect. Undefined: no credentials. */
interface Credentials {
  authenticate: Authenticate;
  tokenSecrets: string[];
  /** Nothing may be done with these. */
  refused: Readonly<Record<string, string | undefined>>;
  /** Credentials of other principals, with all scopes. */
  foreign: Readonly<Record<string, string>>;
  /** Credentials of the principal for other agents than its runs have. */
  ofOtherAgents: Readonly<Record<string, string>>;
  /** Credentials of the principal for another run, with the scopes that a token can have. */
  ofOtherRun: string;
  /** A key of the principal with these scopes alone. */
  withScopes: (scopes: readonly Scope[]) => Promise<string>;
  /** A token of the issuer for the principal. */
  jwtOf: (scope: string) => Promise<string>;
  /** A token of the principal for its run. */
  tokenOf: (runId: string) => Promise<string>;
}

/** Makes credentials of a principal, and of those that attack it. */
async function credentialsAround({ tenant, user }: Required<Identity>): Promise<Credentials> {
  const store = memoryApiKeys();
  const tokenSecrets = ['s'.repeat(32)];
  const tokens = new RunTokens({ secrets: tokenSecrets });
  const [issuer, forger] = await Promise.all([fakeIssuer(ISSUER), fakeIssuer(ISSUER)]);
  const own = { tenant, user };
  const apiKeyOf = async (principal: Identity, rights: { scopes?: readonly Scope[]; agents?: string[]; expiresAt?: number } = {}) =>
    createApiKey(store, { name: 'test', scopes: SCOPES, principal, ...rights });
  const all = SCOPES.join(' ');
  const token = (claims: object, from = issuer): Promise<string> => from.token({ tenant, sub: user, scope: all, ...claims });
  const maker: Caller = { id: 'maker', principal: own, scopes: SCOPES };
  const runToken = async (runId: string, caller = maker): Promise<string> =>
    (await tokens.make(caller, { runId, scopes: ['runs:read', 'approvals:decide'] })).token;
  const [revoked, good] = [await apiKeyOf(own), (await apiKeyOf(own)).text];
  await store.revoke(revoked.key.id, Date.now());
  const past = Date.now() - 60_000;
  return {
    authenticate: anyOf(apiKeys(store), jwt({ issuer: ISSUER, audience: 'longhaul', keys: issuer.keys })),
    tokenSecrets,
    refused: {
      'no credentials': undefined,
      'a wrong secret': `${good.slice(0, -1)}${good.endsWith('A') ? 'B' : 'A'}`,
      'an expired key': (await apiKeyOf(own, { expiresAt: past })).text,
      'a revoked key': revoked.text,
      'an expired JWT': await token({ exp: Math.floor(past / 1_000) }),
      'a forged JWT': await token({}, forger),
      'an expired run token': await runToken('run-1', { ...maker, expiresAt: past }),
    },
    foreign: {
      'a foreign tenant': (await apiKeyOf({ tenant: `not-${tenant}`, user })).text,
      'a foreign user': (await apiKeyOf({ tenant, user: `not-${user}` })).text,
      'the tenant without a user': (await apiKeyOf({ tenant })).text,
      'a foreign user with a JWT': await token({ sub: `nor-${user}` }),
    },
    ofOtherAgents: {
      'a key for other agents': (await apiKeyOf(own, { agents: OTHER_AGENTS })).text,
      'a JWT for other agents': await token({ agents: OTHER_AGENTS }),
    },
    ofOtherRun: await runToken('another-run'),
    withScopes: async (scopes) => (await apiKeyOf(own, { scopes })).text,
    jwtOf: (scope) => token({ scope }),
    tokenOf: (runId) => runToken(runId),
  };
}

/** One request to a route. */
interface LineRequest {
  method: string;
  path: string;
  line: AccessLine;
  /** The things that the request names. */
  victim: Victim;
  credentials: string | undefined;
}

/** The parts of a response that are compared. */
export interface LineResponse {
  status: number;
  code: string | undefined;
  text: string;
}

/** Sends the request of a line. Of a stream, the first chunk is read. */
export async function sendLine(handler: Handler, { method, path, line, victim, credentials }: LineRequest): Promise<LineResponse> {
  const { body, query, headers = {}, withKey = false } = line;
  const url = `http://localhost${pathOf(path, victim)}${query?.(victim) ?? ''}`;
  const response = await handler(
    new Request(url, {
      method,
      headers: {
        'content-type': 'application/json',
        ...headers,
        ...(withKey ? { 'idempotency-key': keyOf(path, victim) } : {}),
        ...(credentials === undefined ? {} : { authorization: `Bearer ${credentials}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body(victim)) }),
    }),
  );
  const text = await textOf(response);
  return { status: response.status, code: codeIn(text), text };
}

/** Returns the idempotency key of the principal that a route is attacked with. Each has a separate key: callers use it once. */
function keyOf(path: string, { tenant }: Pick<Victim, 'tenant'>): string {
  return `${tenant} ${path}`;
}

/** Returns the response without what names the occurrence. */
export function comparable({ status, text }: LineResponse): unknown {
  return { status, text: text.replaceAll(/urn:uuid:[\w-]+/g, 'urn:uuid') };
}

/** Returns the parts of a response that an expectation is about. */
export function partsFor({ code, has }: Expected, { status, code: own, text }: LineResponse): Expected {
  return {
    status,
    ...(code === undefined || own === undefined ? {} : { code: own }),
    ...(has === undefined ? {} : { has: text.includes(has) ? has : text }),
  };
}

/** Returns the values of the parameters of paths. */
function valuesOf(victim: Victim): Readonly<Record<string, string>> {
  const { runId, sessionId, callId, user, chatId } = victim;
  const others = { agent: 'clerk', model: 'clerk', turn: '1', decisionId: 'd', sha256: 'a'.repeat(64), program: 'note', step: '1' };
  return { runId, sessionId, callId, user, id: chatId, ...others };
}

function pathOf(path: string, victim: Victim): string {
  const values = valuesOf(victim);
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path} has the parameter "${name}": give it a value here`);
    return encodeURIComponent(value);
  });
}

async function textOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream')) return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

function codeIn(text: string): string | undefined {
  try {
    const { code, error } = JSON.parse(text) as { code?: string; error?: { code?: string } };
    return code ?? error?.code;
  } catch {
    return undefined;
  }
}

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
