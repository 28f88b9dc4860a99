import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { matrixSample } from '../matrix-sample.ts';
import { chosenMatrices, MATRICES, PROPERTIES, TURNS } from '../matrices.ts';
import { PROPERTY_RUNS, propertyRuns } from '../property-runs.ts';
import { stagesOf } from './stages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const commands = (extent: Parameters<typeof stagesOf>[0]): string[] => stagesOf(extent).map(({ command }) => command.join(' '));

test('the tests are run by the command that the README names', () => {
  expect(readFileSync(`${root}/README.md`, 'utf8')).toContain('npm ci && npm test');
  expect(commands('all')[0]).toBe('npm test --');
});

test('every stage of a commit is among the stages of all, which leave nothing out', () => {
  const all = stagesOf('all');
  expect(all.filter(({ env }) => env !== undefined)).toEqual([]);
  expect(all.filter(({ command }) => command.includes('--every'))).toEqual([]);
  const names = all.map(({ name }) => name);
  expect(stagesOf({ hash: '78c2cf7f', turn: 30_914 }).filter(({ name }) => !names.includes(name))).toEqual([]);
});

test('a commit runs the same parts each time, and other commits run others', () => {
  const commit = { hash: '78c2cf7f', turn: 30_914 };
  expect(commands(commit)).toEqual(commands(commit));
  expect(commands({ hash: '78c3cf7f', turn: 30_915 })).not.toEqual(commands(commit));
});

test('every matrix is a file, listed once', () => {
  const all = [...MATRICES, ...PROPERTIES];
  expect(all.filter((file) => !existsSync(`${root}/${file}`))).toEqual([]);
  expect(new Set(all).size).toBe(all.length);
});

test('commits that follow each other in turn run every matrix', () => {
  const chosen = Array.from({ length: TURNS }, (_, turn) => chosenMatrices({ MATRIX_SAMPLE: `000${turn}` }));
  expect(new Set(chosen.flat())).toEqual(new Set([...MATRICES, ...PROPERTIES]));
  expect(Math.max(...chosen.map(({ length }) => length))).toBeLessThan(MATRICES.length / 3);
});

test('files whose properties have a quarter of their cases in the tests are those that the matrices run with all', () => {
  const files = readdirSync(`${root}/test`, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'));
  const quartered = files.filter((file) => /numRuns: propertyRuns\(/.test(readFileSync(`${root}/test/${file}`, 'utf8')));
  expect(quartered.map((file) => `test/${file}`).toSorted()).toEqual(PROPERTIES.toSorted());
  expect([propertyRuns(60, {}), propertyRuns(60, { [PROPERTY_RUNS]: 'all' })]).toEqual([15, 60]);
});

test('each seventh turn has the first hours, with other projects each time', () => {
  const samples = Array.from({ length: 42 }, (_, turn) => stagesOf({ hash: turn.toString(16).padStart(4, '0'), turn })).flatMap((stages) =>
    stages.filter(({ name }) => name === 'hours').map(({ env }) => env?.['MATRIX_SAMPLE'] ?? ''),
  );
  expect(samples).toHaveLength(6);
  const projects = Array.from({ length: 12 }, (_, index) => index);
  expect(new Set(samples.flatMap((hash) => matrixSample(projects, { every: 6, env: { MATRIX_SAMPLE: hash } })))).toEqual(new Set(projects));
});

test('every kind of run that is killed meets each of its points at some turn', () => {
  const met = Array.from({ length: 16 }, (_, turn) => {
    const { command = [] } = stagesOf({ hash: '0000', turn }).find(({ name }) => name === 'crash') ?? {};
    const valueOf = (option: string): string => command[command.indexOf(option) + 1] ?? '';
    const first = Number(valueOf('--turn')) % Number(valueOf('--every'));
    return valueOf('--only')
      .split(',')
      .map((kind) => `${kind} ${first}`);
  }).flat();
  expect(new Set(met).size).toBe(7 * 8);
});
