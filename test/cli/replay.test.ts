import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { recordedHistories } from '../replay/histories.ts';
import { callCli } from './call-cli.ts';

// Building a bundle takes a while on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const HISTORIES = fileURLToPath(new URL('../replay/histories/', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('../server/testbed/host-workflows.ts', import.meta.url));

let folder: string;
/** A run whose second tool call names another tool than the code expects. */
let foreign: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longhaul-replay-'));
  foreign = join(folder, 'foreign.json');
  const text = await readFile(join(HISTORIES, 'completed-with-tools-in-sequence.json'), 'utf8');
  await writeFile(foreign, text.replace('"activityType": {\n          "name": "broken"', '"activityType": {\n          "name": "mended"'));
  await cp(join(HISTORIES, 'completed-with-parallel-tools.json'), join(folder, 'good.json'));
  await writeFile(join(folder, 'notes.txt'), 'no history');
});
afterAll(async () => rm(folder, { recursive: true }));

test('a folder of histories is replayed, and the exit code is 0 if all of them replay', async () => {
  // An agent in one execution and in several, agents in a workflow of the tests, and a program with its children.
  const names = recordedHistories()
    .map(({ name }) => name)
    .filter((name) => /^(completed-|continued-after-|two-agents-|program-with-descendants)/.test(name));
  const some = join(folder, 'some');
  await mkdir(some);
  for (const name of names) await cp(join(HISTORIES, `${name}.json`), join(some, `${name}.json`));
  const { exitCode, stdout, stderr } = await callCli(['replay', some, '--workflows', WORKFLOWS]);
  const count = names.length;
  expect(count).toBeGreaterThan(10);
  expect(stdout.match(/^ok /gm)).toHaveLength(count);
  expect(stderr).toBe(`${count} of ${count} runs continue with this code.\n`);
  expect(exitCode).toBe(0);
});

test('a difference is reported with the run, its step, and the command that differs', async () => {
  const { exitCode, stdout, stderr } = await callCli(['replay', folder]);
  expect(stdout.replaceAll(folder, 'F')).toMatchInlineSnapshot(`
    "diverged  completed-with-tools-in-sequence (F/foreign.json)
              step 1: history has activity "mended" (event 24), the code does activity "broken"
    ok        completed-with-parallel-tools (F/good.json)
    "
  `);
  expect(stderr).toBe('1 of 2 runs continue with this code; 1 diverged.\n');
  expect(exitCode).toBe(9);
});

test('a local call that the code does not make is reported too, over however many tasks it lasted', async () => {
  const texts = await Promise.all(
    ['local-tools', 'local-tools-over-tasks'].map((name) => readFile(join(HISTORIES, `${name}.json`), 'utf8')),
  );
  const files = texts.map((_, index) => join(folder, `local-${index}.json`));
  for (const [place, text] of texts.entries()) await writeFile(files[place] ?? '', withAnotherLocalCall(text));
  const { exitCode, stdout } = await callCli(['replay', ...files]);
  await Promise.all(files.map((file) => rm(file)));
  expect(stdout.replaceAll(folder, 'F')).toMatchInlineSnapshot(`
    "diverged  local-tools (F/local-0.json)
              step 3: history has local activity "mended" (event 41), the code does activity "callModel"
    diverged  local-tools-over-tasks (F/local-1.json)
              step 1: history has local activity "mended" (event 32), the code does activity "callModel"
    "
  `);
  expect(exitCode).toBe(9);
});

test('with --json, each run is an object on a line', async () => {
  const { exitCode, stdout } = await callCli(['replay', foreign, join(folder, 'good.json'), '--json']);
  const [first, second] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(first).toEqual({
    runId: 'completed-with-tools-in-sequence',
    verdict: 'diverged',
    executions: 1,
    file: foreign,
    problem: {
      execution: 1,
      step: 1,
      eventId: 24,
      expected: 'activity "mended"',
      actual: 'activity "broken"',
      message: "Activity type of scheduled event 'mended' does not match activity type of activity command 'broken'",
    },
  });
  expect(second).toMatchObject({ verdict: 'ok' });
  expect(exitCode).toBe(9);
});

test('workflows that cannot be bundled are a usage error with the reason', async () => {
  const workflows = join(folder, 'workflows.ts');
  await writeFile(workflows, "import { readFileSync } from 'node:fs';\nexport const report = async () => readFileSync('a');\n");
  const { exitCode, stderr } = await callCli(['replay', foreign, '--workflows', workflows]);
  expect(stderr).toContain(`The workflows "${workflows}" cannot be bundled: ERROR in node:fs`);
  expect(stderr).not.toContain('    at ');
  expect(exitCode).toBe(2);
});

test('a run of a workflow that the code lacks is reported', async () => {
  const { exitCode, stdout } = await callCli(['replay', join(HISTORIES, 'two-agents-in-a-workflow.json')]);
  expect(stdout).toContain('The code has no workflow of type "report"');
  expect(exitCode).toBe(9);
});

test.each([
  { what: 'a path that does not exist', args: ['nowhere.json'], said: 'There is no file or folder "nowhere.json" to replay' },
  { what: 'a file that is not JSON', args: [fileURLToPath(import.meta.url)], said: 'is not JSON' },
  { what: 'a folder without histories', args: [fileURLToPath(new URL('./fixtures', import.meta.url))], said: 'holds no histories' },
  {
    what: 'a workflows module that does not exist',
    args: ['x.json', '--workflows', 'no.ts'],
    said: 'The workflows module "no.ts" is not a file',
  },
])('$what is a usage error', async ({ args, said }) => {
  const { exitCode, stderr } = await callCli(['replay', ...args]);
  expect(stderr).toContain(said);
  expect(exitCode).toBe(2);
});

/** A history whose last local call names another tool. */
function withAnotherLocalCall(text: string): string {
  const history = JSON.parse(text) as {
    events: { markerRecordedEventAttributes?: { details: Record<string, { payloads: { data: string }[] }> } }[];
  };
  const details = history.events.findLast((event) => event.markerRecordedEventAttributes)?.markerRecordedEventAttributes?.details;
  for (const payload of details?.['data']?.payloads ?? []) {
    const data = { ...(JSON.parse(Buffer.from(payload.data, 'base64').toString()) as object), activity_type: 'mended' };
    payload.data = Buffer.from(JSON.stringify(data)).toString('base64');
  }
  return JSON.stringify(history);
}
