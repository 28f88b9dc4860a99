import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasScope, type Scope, SCOPES } from '../../../../../src/server/auth/caller.ts';
import { mcpRoute } from '../../../../../src/server/protocols/mcp/mcp-route.ts';
import { OPENAI_ROUTES } from '../../../../../src/server/protocols/openai/openai-routes.ts';
import { ROUTES } from '../../../../../src/server/routes/all-routes.ts';
import { until } from '../../../testbed/testbed.ts';
import {
  type AccessLine,
  type Expected,
  FORBIDDEN,
  LAST_LINES,
  PROTOCOL_LINES,
  SERVICE_LINES,
  UNKNOWN,
  type Victim,
} from './access-lines.ts';
import {
  type AccessWorld,
  comparable,
  type LineResponse,
  openWorld,
  partsFor,
  recordsOf,
  SECRET,
  sendLine,
  stateOf,
} from './access-world.ts';

const LINES = { ...PROTOCOL_LINES, ...SERVICE_LINES, ...LAST_LINES };
const DEFINITIONS = [...ROUTES, ...OPENAI_ROUTES, mcpRoute([], () => undefined)].map(({ definition }) => definition);
const nameOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;

/** The requests in the order of the lines: the principal itself may send them in this order. */
const REQUESTS = Object.entries(LINES).flatMap(([name, lines]) => {
  const { method, path, scope } = DEFINITIONS.find((one) => nameOf(one) === name) ?? { method: '', path: '', scope: 'public' as const };
  return lines.map((line) => ({ method, path, scope, line, title: `${name} ${line.as ?? ''}`.trim() }));
});
type LineOfRoute = (typeof REQUESTS)[number];
const titled = (requests: readonly LineOfRoute[]): [string, LineOfRoute][] => requests.map((one) => [one.title, one]);

/** Cells that were checked. */
let cells = 0;
let world: AccessWorld;
let records: unknown[];

beforeAll(async () => {
  world = await openWorld();
  records = await recordsOf(world);
});
afterAll(() => world?.[Symbol.asyncDispose]());

test('there is a line for each route of the service and of its protocols, and for no other one', () => {
  expect(Object.keys(LINES).toSorted()).toEqual(DEFINITIONS.map(nameOf).toSorted());
});

/** Sends the request of a line, and returns its response. It must have had no effect on the runs of the principal. */
async function attacked({ method, path, line, title }: LineOfRoute, who: string, credentials: string | undefined): Promise<LineResponse> {
  const { handler, victim } = world;
  const before = await stateOf(world);
  const response = await sendLine(handler, { method, path, line, victim, credentials });
  expect({ title, who, state: await stateOf(world) }).toEqual({ title, who, state: before });
  expect(response.text).not.toContain(SECRET);
  cells += 1;
  return response;
}

/** Sends the request of a line for several callers, and returns what they got, as far as the expectation names it. */
async function outcomes(
  one: LineOfRoute,
  callers: Readonly<Record<string, string | undefined>>,
  expected: Expected,
): Promise<Record<string, Expected>> {
  const all: Record<string, Expected> = {};
  for (const [who, credentials] of Object.entries(callers)) all[who] = partsFor(expected, await attacked(one, who, credentials));
  return all;
}

/** The same response for each of the callers. */
function forEach(callers: Readonly<Record<string, unknown>>, expected: Expected): Record<string, Expected> {
  return Object.fromEntries(Object.keys(callers).map((who) => [who, expected]));
}

describe.each(titled(REQUESTS))('%s', (_, one) => {
  const { path, scope, line } = one;

  test('is refused without valid credentials', async () => {
    const { refused } = world.credentials;
    const code = /^\/v1\/(?:models|chat|responses)/.test(path) ? 'invalid_api_key' : 'unauthenticated';
    const expected = { status: 401, code };
    expect(await outcomes(one, refused, expected)).toEqual(forEach(refused, expected));
  });

  test('is refused without its scope', async () => {
    const others = SCOPES.filter((each) => scope === 'public' || !hasScope({ scopes: [each] }, scope));
    const { withScopes, jwtOf } = world.credentials;
    const callers = { key: await withScopes(others), jwt: await jwtOf(others.join(' ')) };
    expect(await outcomes(one, callers, FORBIDDEN)).toEqual(forEach(callers, FORBIDDEN));
  });

  test('is refused to a token for another run', async () => {
    const mayHave = scope === 'runs:read' || scope === 'approvals:decide';
    const expected = line.otherRun ?? (mayHave && /\{(?:runId|sessionId)\}/.test(path) ? UNKNOWN : FORBIDDEN);
    expect(partsFor(expected, await attacked(one, 'a run token', world.credentials.ofOtherRun))).toEqual(expected);
  });

  test('reveals nothing of the principal to other principals', async () => {
    const { handler, victim, credentials } = world;
    const expected = line.foreign ?? UNKNOWN;
    for (const [who, own] of Object.entries(credentials.foreign)) {
      const response = await attacked(one, who, own);
      expect({ who, ...partsFor(expected, response) }).toEqual({ who, ...expected });
      if (expected.status !== 404 || line.makes === true) continue;
      const nothing = await sendLine(handler, { ...one, victim: nothingOf(victim), credentials: own });
      expect(comparable(response)).toEqual(comparable(nothing));
    }
  });
});

describe.each(titled(REQUESTS.filter(({ line }) => line.agents !== undefined)))('%s', (_, one) => {
  test('is refused to credentials for other agents', async () => {
    const { ofOtherAgents } = world.credentials;
    const { agents = FORBIDDEN } = one.line;
    expect(await outcomes(one, ofOtherAgents, agents)).toEqual(forEach(ofOtherAgents, agents));
  });
});

/** Replaces the ids of the principal's things by ids that do not exist. */
function nothingOf(victim: Victim): Victim {
  const no = 'no-such-thing';
  return { ...victim, runId: no, sessionId: no, chatId: no, chatRunId: no };
}

test('after all of that the records of the principal are as before, and it has no other runs', async () => {
  const { victim, testbed } = world;
  expect(await recordsOf(world)).toEqual(records);
  const { tenant, user, runId, sessionId, chatRunId, keyedRuns } = victim;
  const own = testbed.client.as({ tenant, user });
  const last = await own.start('assistant', { input: 'last', taskQueue: testbed.taskQueue });
  const listed = async (): Promise<string[]> => (await own.listPage({}, { pageSize: 1_000 })).items.map((entry) => entry.runId);
  await until(async () => (await listed()).includes(last.runId), 'the last run is listed');
  expect((await listed()).toSorted()).toEqual([runId, sessionId, chatRunId, ...Object.values(keyedRuns), last.runId].toSorted());
  expect(cells).toBeGreaterThan(1_100);
});

test("an issuer's token and a run's token let the principal read", async () => {
  const { handler, victim, credentials } = world;
  const one = { method: 'GET', path: '/v1/runs/{runId}', line: {} as AccessLine, victim };
  for (const own of [await credentials.jwtOf('runs:read'), await credentials.tokenOf(victim.runId)])
    expect((await sendLine(handler, { ...one, credentials: own })).status).toBe(200);
});

describe('the principal itself, with only the scope of the route', () => {
  test.each(titled(REQUESTS.filter(({ line }) => line.rightful !== 'none')))('%s', async (_, { method, path, line, scope }) => {
    const { handler, victim, credentials } = world;
    const own = await credentials.withScopes(scope === 'public' ? [] : ([scope] satisfies Scope[]));
    const response = await sendLine(handler, { method, path, line, victim, credentials: own });
    expect(isAsRightful(line.rightful, response) ? 'as it must be' : response).toBe('as it must be');
  });
});

/** True for the response that the principal must get: without an expectation, any response except a refusal for missing rights. */
function isAsRightful(expected: AccessLine['rightful'], response: LineResponse): boolean {
  if (typeof expected !== 'object') return ![401, 403, 404].includes(response.status);
  return isDeepStrictEqual(partsFor(expected, response), expected);
}
