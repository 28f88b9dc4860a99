import { afterAll, beforeAll, expect, test } from 'vitest';
import { attack } from './attack.ts';
import { ATTEMPTS } from './attempts/all.ts';
import type { Attempt } from './attempts/attempt.ts';
import { CAN_ISOLATE } from './can-isolate.ts';
import { Canaries } from './canaries.ts';
import { parseOptions } from './options.ts';
import { memoryLimitProblem } from './probe.ts';

/** One attempt of this many is made here: `npm run escape` makes all. */
const ONE_OF = 48;

/** Bombs are left to the command, which runs them apart from other tests. */
const sample = ATTEMPTS.filter(({ family, language }) => family !== 'memory' && (language !== 'python' || CAN_ISOLATE)).filter(
  (_, index) => index % ONE_OF === 0,
);

const named = (attempt: Attempt): [string, string, Attempt] => [attempt.family, attempt.name.slice(0, 100), attempt];

let canaries: Canaries;

beforeAll(async () => {
  canaries = await Canaries.open();
});

afterAll(() => canaries.close());

test.each(sample.map(named))('%s: %s', async (_, __, attempt) => {
  expect(await attack(attempt, canaries)).toMatchObject({ escapes: [], problems: [] });
});

test('the limit of memory holds', async () => {
  expect(await memoryLimitProblem()).toBeUndefined();
});

test('the attempts differ, and there are enough of them', () => {
  const names = new Set(ATTEMPTS.map(({ family, language = 'javascript', name }) => `${language} ${family}: ${name}`));
  expect(names.size).toBe(ATTEMPTS.length);
  expect(names.size).toBeGreaterThanOrEqual(150);
  expect(ATTEMPTS.filter(({ language }) => language === 'python').length).toBeGreaterThanOrEqual(80);
});

test('an attempt that ends otherwise than it should is a problem', async () => {
  const wrong: Attempt = {
    family: 'reach',
    name: 'wrong',
    cells: ['final_answer(1)'],
    limits: ATTEMPTS[0]?.limits ?? { timeoutSeconds: 1, maxMemoryMb: 16 },
  };
  expect(await attack({ ...wrong, ends: ['runtime'], answer: 2, output: 'a' }, canaries)).toMatchObject({
    problems: ['it ended with success: ', 'its answer is 1', 'it is final', 'its output is ""'],
  });
});

test('a canary that died is an escape', async () => {
  const own = await Canaries.open();
  const { variable } = own.bait;
  const polluted = Object.prototype as { polluted?: boolean };
  try {
    const secret = process.env[variable] ?? '';
    polluted.polluted = true;
    process.env[variable] = 'changed';
    const problems = await own.problems([{ output: secret } as never]);
    expect(problems).toEqual([
      'a secret came out',
      'Object.prototype of the host was changed',
      "a variable of the host's environment was changed",
    ]);
  } finally {
    delete polluted.polluted;
    await own.close();
  }
});

test('the options of the command are checked', () => {
  expect(parseOptions(['--family', 'time,stack', '--json'])).toEqual({
    families: ['time', 'stack'],
    only: '',
    every: 1,
    turn: 0,
    retry: false,
    json: true,
  });
  expect(parseOptions(['--every', '3', '--turn', '30914', '--retry'])).toMatchObject({ every: 3, turn: 30_914, retry: true });
  expect(() => parseOptions(['--every', '0'])).toThrow('--every is "0": write a whole number of at least 1');
  expect(() => parseOptions(['--turn', '-1'])).toThrow(/./);
  expect(() => parseOptions(['--family', 'spaces'])).toThrow('--family is "spaces": choose of reach');
});
