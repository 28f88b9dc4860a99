import { expect, test } from 'vitest';
import { groupsOf, NamedLines, runGroup } from './lanes.ts';
import type { Outcome } from './outcome.ts';
import { type Stage, stagesOf } from './stages.ts';

const stage = (name: string, lane?: Stage['lane']): Stage => ({
  name,
  command: ['true'],
  limitSeconds: 1,
  reading: 'exit code',
  ...(lane === undefined ? {} : { lane }),
});
const names = (stages: readonly Stage[]): string[][][] =>
  groupsOf(stages).map((lanes) => lanes.map((lane) => lane.map(({ name }) => name)));

test('stages without a lane run alone, and lanes that follow each other at the same time', () => {
  expect(
    names([stage('a'), stage('b', 'kills'), stage('c', 'cases'), stage('d', 'kills'), stage('e'), stage('f'), stage('g', 'kills')]),
  ).toEqual([[['a']], [['b', 'd'], ['c']], [['e']], [['f']], [['g']]]);
});

test('every stage runs once, and the tests, the storms and the escapes have the machine for themselves', () => {
  const stages = stagesOf('all');
  const groups = groupsOf(stages);
  expect(groups.flat(2).toSorted((one, other) => one.name.localeCompare(other.name))).toEqual(
    stages.toSorted((one, other) => one.name.localeCompare(other.name)),
  );
  const alone = groups.map((lanes) => lanes.flat()).flatMap((group) => (group.length === 1 ? group.map(({ name }) => name) : []));
  expect(alone).toEqual(expect.arrayContaining(['tests', 'matrices', 'storm', 'stream-storm', 'escape']));
});

test('a stage of a lane is repeated by its lane alone', () => {
  expect(stagesOf('all').filter(({ lane, isRepeated }) => lane !== undefined && isRepeated)).toEqual([]);
});

const PASSED: Outcome = { passed: 3, failed: 0, skipped: [], failures: [], unstable: [] };
const FAILED: Outcome = { ...PASSED, passed: 2, failed: 1, failures: ['FAILED b'] };

/** Runs a group of stages with these outcomes per try. Returns the order they began in, and which had the machine for themselves. */
async function groupWith(lanes: Stage[][], outcomes: Record<string, Outcome[]>): Promise<{ begun: string[]; ended: unknown[] }> {
  const begun: string[] = [];
  let running = 0;
  const ended = await runGroup(lanes, async (one, { isAlone }) => {
    running += 1;
    const place = begun.push(`${one.name}${isAlone ? ' alone' : ''}`) - 1;
    await new Promise((resolve) => setImmediate(resolve));
    if (isAlone && running > 1) begun[place] += ', but beside others';
    running -= 1;
    return { stage: one, seconds: 5, outcome: outcomes[one.name]?.shift() ?? PASSED };
  });
  return { begun, ended: ended.map(({ stage: { name }, seconds, outcome }) => [name, seconds, outcome]) };
}

test('a stage that fails next to another lane is rerun alone when all lanes have ended', async () => {
  const lanes = [[stage('a'), stage('b')], [stage('c')]];
  const { begun, ended } = await groupWith(lanes, { a: [FAILED, PASSED], c: [FAILED, { ...FAILED, failures: ['FAILED d'] }] });
  expect(begun).toEqual(['a', 'c', 'b', 'a alone', 'c alone']);
  expect(ended).toEqual([
    ['a', 10, { ...PASSED, unstable: ['FAILED b'] }],
    ['b', 5, PASSED],
    ['c', 10, { ...FAILED, failures: ['FAILED d'] }],
  ]);
});

test('a stage that fails alone has failed', async () => {
  expect(await groupWith([[stage('a'), stage('b')]], { a: [FAILED, PASSED] })).toEqual({
    begun: ['a alone', 'b alone'],
    ended: [
      ['a', 5, FAILED],
      ['b', 5, PASSED],
    ],
  });
});

test('the lines of a stage have its name, also if they arrive in pieces', () => {
  let printed = '';
  const lines = new NamedLines('spec', (text) => (printed += text));
  for (const text of ['ok a', '\nok', ' b\n\n', 'closing']) lines.take(text);
  lines.end();
  lines.end();
  expect(printed).toBe('spec │ ok a\nspec │ ok b\nspec │ \nspec │ closing\n');
});
