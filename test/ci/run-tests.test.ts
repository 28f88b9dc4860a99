import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runTests } from './run-tests.ts';
import { REPORT_PATH } from './test-report.ts';

const reporter = fileURLToPath(new URL('test-report.ts', import.meta.url));
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));

const CONFIG = `
import { TestReporter } from ${JSON.stringify(reporter)};
export default {
  test: { globals: true, include: ['*.case.ts'], maxWorkers: 1, isolate: false, reporters: ['dot', new TestReporter(process.env.${REPORT_PATH})] },
};
`;

/** Fails once, and passes from then on: it leaves a file in its folder. */
const FLAKY = `
import { existsSync, writeFileSync } from 'node:fs';
const mark = new URL('mark', import.meta.url);
test('is in time', () => {
  if (existsSync(mark)) return;
  writeFileSync(mark, '');
  throw new Error('too late');
});
test('is right', () => {});
`;

/** The same, with an error that no test waits for. */
const FLAKY_OUTSIDE = FLAKY.replace(
  "throw new Error('too late');",
  `setTimeout(() => { throw new Error('too late'); });
  return new Promise((resolve) => setTimeout(resolve, 50));`,
);

let folder: string;
let printed: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longhaul-flaky-'));
  printed = '';
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function outcomeOf(files: Readonly<Record<string, string>>): ReturnType<typeof runTests> {
  for (const [name, text] of Object.entries({ 'vitest.config.ts': CONFIG, ...files })) writeFileSync(join(folder, name), text);
  const { PATH } = process.env;
  return runTests([process.execPath, vitest, 'run', '--root', folder], {
    cwd: folder,
    env: { PATH },
    limitSeconds: 60,
    print: (text) => (printed += text),
  });
}

test('a file that fails once is reported as unstable with its first failure, and a file that fails twice has failed', async () => {
  const outcome = await outcomeOf({
    'broken.case.ts': "test('is never right', () => expect(1).toBe(2)); test('is right', () => {}); test.skip('is left out', () => {});",
    'flaky.case.ts': FLAKY,
    'good.case.ts': "test('is right', () => {});",
    'unreadable.case.ts': "throw new Error('no such thing');",
  });
  expect(outcome).toEqual({
    passed: 4,
    failed: 2,
    skipped: ['broken.case.ts: is left out'],
    failures: ['broken.case.ts: is never right: expected 1 to be 2 // Object.is equality', 'unreadable.case.ts: no such thing'],
    unstable: ['flaky.case.ts: is in time: too late'],
  });
  expect(printed.match(/── once more, alone: .*/g)).toEqual([
    '── once more, alone: broken.case.ts',
    '── once more, alone: flaky.case.ts',
    '── once more, alone: unreadable.case.ts',
  ]);
}, 60_000);

test('an error outside of any test is a failure of its file', async () => {
  const outcome = await outcomeOf({ 'flaky.case.ts': FLAKY_OUTSIDE, 'good.case.ts': "test('is right', () => {});" });
  expect(outcome).toEqual({
    passed: 3,
    failed: 0,
    skipped: [],
    failures: [],
    unstable: ['flaky.case.ts: outside of any test: too late'],
  });
}, 60_000);

test('nothing is repeated if many files fail, and a run without a report has failed', async () => {
  const broken = "test('is never right', () => expect(1).toBe(2));";
  const outcome = await outcomeOf(Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`broken-${index}.case.ts`, broken])));
  expect(outcome).toMatchObject({ passed: 0, failed: 9, unstable: [] });
  expect(printed).not.toContain('once more');

  expect(await outcomeOf({ 'vitest.config.ts': "throw new Error('no config');" })).toEqual({
    passed: 0,
    failed: 1,
    skipped: [],
    failures: ['vitest wrote no report: exit code 1'],
    unstable: [],
  });
}, 60_000);
