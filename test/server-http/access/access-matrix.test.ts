import { beforeAll, describe, expect, it } from 'vitest';
import { type AccessCase, accessCases, accessProblems, type AccessWorld, SITUATIONS } from './access-matrix.ts';
import { guardedRuns, type Mistake, ROUTES } from './guarded-runs.ts';

const CASES = accessCases(ROUTES);

describe('access to the routes of a service', () => {
  let world: AccessWorld;
  beforeAll(async () => void (world = await guardedRuns()));

  it.each(CASES.map((one): [string, AccessCase] => [`${one.route.method} ${one.route.path}: ${one.situation}`, one]))(
    '%s',
    async (_, one) => {
      expect(await accessProblems(world, one)).toEqual([]);
    },
  );
});

describe('the matrix', () => {
  it('has every situation for each route with a scope, and one for a public route', () => {
    expect(CASES.filter(({ route }) => route.scope === 'public').map(({ situation }) => situation)).toEqual(['no credentials']);
    for (const route of ROUTES.filter(({ scope }) => scope !== 'public')) {
      const situations = CASES.filter((one) => one.route === route).map(({ situation }) => situation);
      expect(situations).toEqual(['rightful', ...SITUATIONS]);
    }
  });

  it.each<[Mistake, AccessCase['situation'][]]>([
    [
      'caller',
      ['no credentials', 'wrong credentials', 'expired', 'revoked', 'missing scope', 'foreign tenant', 'run token for another run'],
    ],
    ['scope', ['missing scope']],
    ['run', ['run token for another run']],
    ['tenant', ['foreign tenant']],
    ['list', ['foreign tenant']],
    ['status', ['foreign tenant']],
    ['everything', ['rightful', 'no credentials', 'wrong credentials', 'expired', 'revoked', 'foreign tenant']],
  ])('finds a service that forgets to check the %s', async (mistake, situations) => {
    const world = await guardedRuns(mistake);
    const found = await Promise.all(CASES.map(async (one) => ((await accessProblems(world, one)).length > 0 ? [one.situation] : [])));
    expect(new Set(found.flat())).toEqual(new Set(situations));
  });

  it('asks for the value of a parameter that it does not know', async () => {
    const route = { method: 'GET', path: '/v1/things/{thingId}', scope: 'runs:read' as const };
    await expect(accessProblems(await guardedRuns(), { route, situation: 'rightful' })).rejects.toThrow('"thingId"');
  });
});
