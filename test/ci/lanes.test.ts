import { expect, test } from 'vitest';
import { groupsOf, NamedLines } from './lanes.ts';
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

test('the lines of a stage have its name, also if they come in pieces', () => {
  let printed = '';
  const lines = new NamedLines('spec', (text) => (printed += text));
  for (const text of ['ok a', '\nok', ' b\n\n', 'closing']) lines.take(text);
  lines.end();
  lines.end();
  expect(printed).toBe('spec │ ok a\nspec │ ok b\nspec │ \nspec │ closing\n');
});
