import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from './run-part.ts';

/** Tests with a separate part, and tests that need a server: `npm test` runs them. */
const ELSEWHERE = new Set(['architecture', 'server']);

/** This part comes before the others: the examples import the package by its name, which leads to the build. */
export const BUILD: Part = { name: 'build', command: ['tsc', '-p', 'tsconfig.build.json'] };

/** Every other part of the check of a project, the longest first, so that two at a time end together. */
export function partsOf(root: string, { tests }: { tests: boolean }): Part[] {
  return [
    ...(tests ? testParts(root) : []),
    { name: 'lint, with types', command: ['oxlint', '--type-aware', '--deny-warnings', '--report-unused-disable-directives'] },
    { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
    { name: 'types of the workflow side', command: ['tsc', '-p', 'workflows/tsconfig.json'] },
    { name: 'types of Studio', command: ['tsc', '-p', 'studio'] },
    { name: 'tables of the pages', command: ['node', 'test/docs/main.ts', '--check'] },
    { name: 'format', command: ['oxfmt', '--check', '.'] },
  ];
}

function testParts(root: string): Part[] {
  return [
    { name: 'unit and replay tests', command: unitTests(testsIn(root)) },
    { name: 'workflow bundle', command: unitTests(['test/architecture/workflow-bundle']) },
    {
      name: 'architecture',
      command: unitTests(['test/architecture/architecture', 'test/architecture/rules', 'test/architecture/size']),
    },
  ];
}

function unitTests(paths: string[]): Part['command'] {
  return ['vitest', 'run', '--project', 'unit', '--maxWorkers=2', ...paths];
}

function testsIn(root: string): string[] {
  return readdirSync(join(root, 'test'), { withFileTypes: true })
    .filter((entry) => (entry.isDirectory() ? !ELSEWHERE.has(entry.name) : entry.name.endsWith('.test.ts')))
    .map((entry) => `test/${entry.name}${entry.isDirectory() ? '/' : ''}`);
}
