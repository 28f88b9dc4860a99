import { expect, test } from 'vitest';
import { parseOptions } from './options.ts';
import { planKills, seeded } from './runs/random-kills.ts';

test('without arguments the whole matrix is run', () => {
  expect(parseOptions([])).toEqual({
    only: ['agent', 'burst', 'program', 'code', 'tree', 'session', 'burst-session', 'fallback'],
    passes: ['worker', 'server'],
    all: false,
    points: [],
    every: 1,
    turn: 0,
    parallel: 4,
    json: false,
    list: false,
    queries: false,
    traces: false,
    retry: false,
  });
});

test('a run, a pass, points, and a time with a seed can be chosen', () => {
  const given = parseOptions([
    '--pass',
    'server',
    '--points',
    'charge,told',
    '--every',
    '3',
    '--turn',
    '30914',
    '--parallel',
    '2',
    '--json',
    '--queries',
  ]);
  expect(given).toMatchObject({
    passes: ['server'],
    points: ['charge', 'told'],
    every: 3,
    turn: 30914,
    parallel: 2,
    json: true,
    queries: true,
  });
  expect(parseOptions(['--only', 'program', '--all'])).toMatchObject({ only: ['program'], all: true });
  expect(parseOptions(['--scenario', 'tree'])).toMatchObject({ only: ['tree'] });
  expect(parseOptions(['--random', '--seed', '7', '--for', '2m']).random).toEqual({ seed: 7, ms: 120_000 });
  expect(parseOptions(['--random']).random).toEqual({ seed: 1, ms: 60_000 });
});

test('the recovery is measured with other runs, kills and workers than the default', () => {
  expect(parseOptions(['--recovery']).recovery).toEqual({ runs: 40, workers: 2, kills: 15, ms: 45_000, seed: 1 });
  const given = parseOptions(['--recovery', '--runs', '9', '--workers', '3', '--kills', '2', '--for', '1m', '--seed', '4']);
  expect(given.recovery).toEqual({ runs: 9, workers: 3, kills: 2, ms: 60_000, seed: 4 });
});

test.each([
  ['--only', 'workflow'],
  ['--scenario', 'forest'],
  ['--only', 'tree', '--scenario', 'tree'],
  ['--pass', 'client'],
  ['--parallel', '0'],
  ['--seed', '7'],
  ['--random', '--for', 'ever'],
  ['--every', '0'],
  ['--turn', '-1'],
  ['--random', '--turn', '2'],
  ['--random', '--points', 'charge'],
  ['--random', '--every', '2'],
  ['--random', '--all'],
  ['--random', '--retry'],
  ['--runs', '9'],
  ['--recovery', '--random'],
  ['--recovery', '--only', 'agent'],
  ['--unheard-of'],
])('%s %s is refused', (...args) => {
  expect(() => parseOptions(args)).toThrow(/./);
});

test('a plan depends on its seed alone, and does not kill the server if only workers die', () => {
  const plans = Array.from({ length: 50 }, (_, seed) => planKills(seeded(seed), true));
  expect(plans).toEqual(Array.from({ length: 50 }, (_, seed) => planKills(seeded(seed), true)));
  expect(new Set(plans.map((plan) => JSON.stringify(plan))).size).toBe(50);
  expect(new Set(plans.flat().map(({ victim }) => victim))).toEqual(new Set(['worker', 'server']));
  const spared = Array.from({ length: 50 }, (_, seed) => planKills(seeded(seed), false)).flat();
  expect(new Set(spared.map(({ victim }) => victim))).toEqual(new Set(['worker']));
});
