import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli, type CliOutcome } from '../../cli/call-cli.ts';
import { anchors, programs } from '../../cli/fixtures/two-programs.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const MODULE = 'test/cli/fixtures/two-programs.ts';
const TICKET = ['--input-json', '{"ticket": "4711"}'];

async function cli(testbed: Testbed, ...args: string[]): Promise<CliOutcome> {
  return callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue]);
}

/** A worker that has the programs, and a model that breaches the anchor once. */
async function work(testbed: Testbed): Promise<void> {
  const scripted = scriptedModel([say('It costs 5 €'), say('A refund'), say('Dear Ann'), say('Dear Ann, yours, Bob')]);
  await testbed.work({ agents: [], programs, anchors, providers: { scripted } });
}

test('run starts a program by its name; show, events, approvals, list and result show units and steps', async () => {
  await using testbed = await Testbed.open();
  await work(testbed);
  const { stdout } = await cli(testbed, 'run', 'sort', ...TICKET, '--no-wait', '--json');
  const { runId, program } = JSON.parse(stdout) as { runId: string; program: string };
  expect(program).toBe('sort');
  await until(async () => (await cli(testbed, 'approvals', runId)).stdout !== '', 'the review');
  const waiting = (await cli(testbed, 'approvals', runId)).stdout;
  expect(waiting).toContain(`write.Letter.review · call write.Letter.review · step write.Letter of run ${runId}`);

  const live = (await cli(testbed, 'show', runId)).stdout;
  expect(live).toMatch(
    /^Program {3}sort\nStatus {4}pending_confirmation\nUnits {5}2 completed, 1 running\nCalls {5}3 model calls, 1 tool call\n/m,
  );
  expect(live).toMatch(
    /^Unit sort · completed in .*\n {2}Kind · ask · 2 attempts · 30 tokens · completed in .*\n {4}It costs 5 €\n {4}✗ NoPrices: /m,
  );
  expect(live).toMatch(/^ {4}→ find_order \{"ticket":"4711"\}\n {4}← the order of 4711$/m);
  expect(live).toMatch(/^ {2}Letter · ask · 15 tokens · running$/m);
  expect(live).not.toContain('10000');
  await until(async () => (await cli(testbed, 'list', '--waiting', 'write.Letter.review')).stdout.includes(runId), 'the list');
  expect((await cli(testbed, 'list', '--agent', 'sort')).stdout).toMatch(/^RUN +AGENT OR PROGRAM +STATUS/);

  expect((await cli(testbed, 'reject', runId, '--reason', 'Sign it', '--by', 'ann')).exitCode).toBe(0);
  await until(async () => (await cli(testbed, 'approvals', runId)).stdout.includes('write.Letter.review#2'), 'the second review');
  await cli(testbed, 'approve', runId, '--by', 'ann');
  const result = await cli(testbed, 'result', runId);
  expect(result).toMatchObject({ exitCode: 0, stdout: 'Dear Ann, yours, Bob\n' });
  expect(result.stderr).toContain('[completed] sort | units: 3 completed | 4 model calls | 1 tool call (find_order ×1) | 60 tokens');

  await testbed.stopWorkers();
  const shown = (await cli(testbed, 'show', runId)).stdout;
  expect(shown).toContain('    ✗ rejected by ann: Sign it\n');
  expect(shown).toContain('    ✓ approved by ann\n');
  const view = JSON.parse((await cli(testbed, 'show', runId, '--json')).stdout) as { units: { name: string; status: string }[] };
  expect(view.units.map(({ name, status }) => [name, status])).toEqual([
    ['sort', 'completed'],
    ['find', 'completed'],
    ['write', 'completed'],
  ]);
  expect((await cli(testbed, 'events', runId)).stdout).toMatch(
    /sort\.Kind +It costs 5 €\n +✗ attempt 1: NoPrices: The answer names a price\n/,
  );
});

test('trace prints the tree of a run, and a run that resumes it pays nothing that it has paid', async () => {
  await using testbed = await Testbed.open();
  await work(testbed);
  const first = (await cli(testbed, 'run', 'sort', ...TICKET, '--no-wait')).stdout.trim();
  await until(async () => (await cli(testbed, 'approvals', first)).stdout !== '', 'the review');
  const tree = (await cli(testbed, 'trace', first)).stdout;
  expect(tree).toMatch(/^sort · scripted · /);
  expect(tree).toMatch(/^├─ unit:sort · \d/m);
  expect(tree).toMatch(/ Kind anchor_breach \{"anchor":"NoPrices"/);
  expect(tree).toMatch(/^└─ unit:write · \d/m);
  expect(JSON.parse((await cli(testbed, 'trace', first, '--json')).stdout)).toMatchObject({
    program_name: 'sort',
    backend_name: 'scripted',
  });
  await cli(testbed, 'cancel', first);
  await cli(testbed, 'result', first);

  const again = (await cli(testbed, 'run', 'sort', ...TICKET, '--resume', first, '--from', 'write.Letter', '--no-wait')).stdout.trim();
  await until(async () => (await cli(testbed, 'approvals', again)).stdout !== '', 'the review of the second run');
  const shown = (await cli(testbed, 'show', again)).stdout;
  expect(shown).toContain('Calls     1 model call, ');
  expect(shown).toMatch(/^ {2}Kind · ask · completed in .*, as in an earlier run$/m);
  await cli(testbed, 'approve', again);
  expect(await cli(testbed, 'result', again)).toMatchObject({ exitCode: 0, stdout: 'Dear Ann, yours, Bob\n' });
});

test('run sends the document of a file, waits and prints the output; a run that is cancelled or fails shows which units did not end', async () => {
  await using testbed = await Testbed.open();
  await work(testbed);
  const { stdout } = await cli(testbed, 'run', MODULE, '--program', 'sort', ...TICKET, '--no-wait');
  const runId = stdout.trim();
  await until(async () => (await cli(testbed, 'approvals', runId)).stdout !== '', 'the review');
  await cli(testbed, 'cancel', runId, '--reason', 'enough');
  const cancelled = await cli(testbed, 'result', runId);
  expect(cancelled.exitCode).toBe(4);
  expect(cancelled.stderr).toContain('[cancelled] sort | units: 2 completed, 1 not finished');
  expect(cancelled.stderr).toContain('unit write: not finished');

  const directory = await mkdtemp(join(tmpdir(), 'longhaul-run-'));
  const document = {
    version: 1,
    name: 'hello',
    units: [{ name: 'u', steps: [{ name: 'Nap', sleep: { for: '1ms' } }] }],
    output: '{{input.who}}!',
  };
  await writeFile(join(directory, 'hello.json'), JSON.stringify(document));
  await writeFile(join(directory, 'input.json'), '{"who": "Ann"}');
  expect(await cli(testbed, 'run', join(directory, 'hello.json'), '--input-file', join(directory, 'input.json'))).toMatchObject({
    exitCode: 0,
    stdout: 'Ann!\n',
  });
  await writeFile(join(directory, 'wrong.json'), JSON.stringify({ ...document, output: '{{u.Nope}}' }));
  const refused = await cli(testbed, 'run', join(directory, 'wrong.json'));
  expect(refused).toMatchObject({ exitCode: 12, stdout: '' });
  expect(refused.stderr).toContain('output: ');
  await rm(directory, { recursive: true });
  // The script of the model has one more answer.
  expect((await cli(testbed, 'run', 'reply')).exitCode).toBe(0);
  const failed = await cli(testbed, 'run', 'reply');
  expect(failed.exitCode).toBe(3);
  expect(failed.stderr).toContain('unit reply: failed');
});
