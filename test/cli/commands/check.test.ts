import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callCli, type CliOutcome } from '../call-cli.ts';

const MODULE = 'test/cli/fixtures/two-programs.ts';
const PROGRAM = {
  version: 1,
  name: 'triage',
  model: 'scripted/m',
  units: [{ name: 'sort', steps: [{ name: 'Kind', ask: { prompt: 'What is this? {{input.ticket}}' } }] }],
};
const WRONG = {
  ...PROGRAM,
  units: [
    {
      name: 'sort',
      anchors: ['NoPrice'],
      steps: [
        { name: 'Kind', ask: { promt: 'What?' } },
        { name: 'Order', tool: { name: 'find_ordr' } },
        { name: 'Say', ask: { prompt: '{{Kin}}' } },
      ],
    },
  ],
};

let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longhaul-check-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

async function check(
  content: unknown,
  { name = 'program.json', flags = [] }: { name?: string; flags?: string[] } = {},
): Promise<CliOutcome> {
  const path = join(directory, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return callCli(['check', path, ...flags]);
}

test('a program without problems ends with 0, and is reported with its size and with what was not checked', async () => {
  expect(await check(PROGRAM)).toEqual({
    exitCode: 0,
    stdout: 'program.json: program "triage" has no problems (1 unit, 1 step)\n',
    stderr: 'Names of tools, agents, anchors and models are not checked: add --agents <module> to check them too.\n',
  });
});

test('all problems are printed at once, with path, message and nearest name, and end with 12', async () => {
  const { exitCode, stdout } = await check(WRONG);
  expect(exitCode).toBe(12);
  expect(stdout.split('\n')).toEqual([
    'program.json: program "triage" has 3 problems',
    '  units[0].steps[0].ask: unknown field "promt". Did you mean "prompt"?',
    '  units[0].steps[0].ask: missing required field "prompt"',
    '  units[0].steps[2].ask.prompt: "{{Kin}}": nothing is named "Kin" here. Did you mean "Kind"?',
    '',
  ]);
});

test('with a module, the names of its tools, anchors and models are checked as well', async () => {
  const { exitCode, stdout, stderr } = await check(WRONG, { flags: ['--agents', MODULE] });
  expect({ exitCode, stderr }).toEqual({ exitCode: 12, stderr: '' });
  expect(stdout).toContain('units[0].anchors[0]: no anchor is named "NoPrice". Did you mean "NoPrices"?');
  expect(stdout).toContain('units[0].steps[1].tool.name: no tool is named "find_ordr". Did you mean "find_order"?');
  expect(stdout).toContain('model: no provider of models is named "scripted"');
});

test('unknown names of a lenient program are warnings, which do not count', async () => {
  const lenient = { ...PROGRAM, lenient: true, units: [{ name: 'sort', steps: [{ name: 'Kind', ask: { prompt: '{{Nothing}}' } }] }] };
  const { exitCode, stdout } = await check(lenient);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/has no problems, 1 warning \(1 unit, 1 step\)\n {2}warning units\[0\]\.steps\[0\]\.ask\.prompt: /);
});

test('for machines there is one object for each program', async () => {
  const { stdout, stderr } = await check(WRONG, { flags: ['--json'] });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    file: 'program.json',
    program: 'triage',
    ok: false,
    problems: [{ path: 'units[0].steps[0].ask', nearest: 'prompt' }, {}, { nearest: 'Kind' }],
    warnings: [],
  });
});

test('a module is checked program by program, and against itself', async () => {
  const { exitCode, stdout } = await callCli(['check', MODULE]);
  expect(exitCode).toBe(0);
  expect(stdout).toBe(
    'two-programs.ts: program "sort" has no problems (3 units, 3 steps)\ntwo-programs.ts: program "reply" has no problems (1 unit, 1 step)\n',
  );
});

test('a module whose program cannot be defined is reported with all problems', async () => {
  const define = new URL('../../../src/define/program/index.ts', import.meta.url).href;
  const code = `import { defineProgram } from '${define}'; export const p = defineProgram(${JSON.stringify({ ...WRONG, version: undefined })});`;
  const { exitCode, stdout } = await check(code, { name: 'wrong.mjs' });
  expect(exitCode).toBe(12);
  expect(stdout).toContain('has 3 problems\n  units[0].steps[0].ask: unknown field "promt". Did you mean "prompt"?');
  const { stderr } = await callCli(['dev', '--agents', join(directory, 'wrong.mjs')]);
  expect(stderr).toContain('- units[0].steps[2].ask.prompt: "{{Kin}}"');
});

test('a document may come from stdin; invalid JSON, or a document of another form, is reported', async () => {
  expect((await callCli(['check', '-'], { stdin: JSON.stringify(PROGRAM) })).stdout).toContain('stdin: program "triage" has no problems');
  expect(await callCli(['check', '-'], { stdin: '{' })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('The program in stdin is not JSON') as string,
  });
  expect((await callCli(['check', '-'], { stdin: '[]' })).stdout).toBe(
    'stdin: the program has 1 problem\n  expected an object, got array\n',
  );
});

test.each<[string, string, unknown, string]>([
  [
    'a compiled program of AXON',
    'review.json',
    { backend_name: 'x', execution_units: [] },
    'is one that AXON has compiled: convert it with fromCompiledProgram',
  ],
  [
    'source text of AXON',
    'review.axon',
    'persona Analyst {}',
    'is source text of AXON, which Longhaul does not compile: compile it with AXON',
  ],
])('%s is recognized, with advice what to do with it', async (_, name, content, message) => {
  const { exitCode, stdout, stderr } = await check(content, { name });
  expect(exitCode).not.toBe(0);
  expect(stdout + stderr).toContain(message);
});
