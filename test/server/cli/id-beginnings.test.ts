import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli, type CliCallOptions, type CliOutcome } from '../../cli/call-cli.ts';
import { refund } from '../approvals/decision-agents.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** An agent that only this file uses. */
const payer = defineAgent({ name: 'beginning_payer', model: 'scripted/m', instructions: 'Pay.', tools: [refund] });

async function cli(testbed: Testbed, args: readonly string[], options?: CliCallOptions): Promise<CliOutcome> {
  return callCli([...args, '--address', testbed.address, '--task-queue', testbed.taskQueue], options);
}

test('a run and a call are named by a beginning that no other one has, and an ambiguous one names the candidates', async () => {
  await using testbed = await Testbed.open();
  const own = randomUUID();
  const ids = [`${own}-first`, `${own}-second`];
  const script = ids.flatMap(() => [callTool('refund', { amount: 5 }, 'call_pay')]);
  await testbed.work({ agents: [payer], providers: { scripted: scriptedModel([...script, say('Paid.')]) } });
  const principal = { tenant: 'acme', user: 'ada' };
  for (const runId of ids) {
    await testbed.client.start(payer, { input: 'Pay me back', runId, principal, tags: ['vip'], taskQueue: testbed.taskQueue });
    await until(async () => (await testbed.client.handle(runId).approvals()).pending.length === 1, 'the call waits');
  }
  await until(async () => (await cli(testbed, ['show', `${own}-f`])).exitCode === 0, 'the server lists the run');
  await until(async () => (await cli(testbed, ['show', `${own}-s`])).exitCode === 0, 'the server lists the run');

  const shown = await cli(testbed, ['show', `${own}-fi…`]);
  expect(shown.stdout).toContain(`Run       ${own}-first\n`);
  expect(shown.stdout).toMatch(/^For {7}ada of acme\nTags {6}vip$/m);

  const several = await cli(testbed, ['cancel', own]);
  expect(several).toMatchObject({ exitCode: 2, stdout: '' });
  expect(several.stderr).toMatch(
    new RegExp(`^longhaul: Several runs begin with "${own}": "${own}-(first|second)", "${own}-(first|second)". Write more of the id\n$`),
  );

  const none = await cli(testbed, ['pause', `${own}-x`]);
  expect(none).toMatchObject({ exitCode: 6, stdout: '' });
  expect(none.stderr).toMatch(/has no run ".*-x": "npx longhaul list" shows those it has\n$/);
  expect(await cli(testbed, ['cancel', `${own}-f`, '--json'])).toMatchObject({ exitCode: 6 });
  expect((await cli(testbed, ['delete', `${own}-f`])).stdout).toContain('there was nothing to delete');

  const listed = ['list', '--waiting', '--query', `TaskQueue = '${testbed.taskQueue}'`];
  await until(async () => (await cli(testbed, listed)).stdout.split('\n').length === 4, 'both runs in the list');
  expect((await cli(testbed, listed)).stdout).toMatch(/FOR +WAITING FOR +ASKED +TAGS\n(.*ada of acme +refund +Pay me back +vip\n){2}$/);

  expect((await cli(testbed, ['approve', `${own}-f`, 'call', '--by', 'ann'])).stdout).toBe(
    'Call "call_pay" of "refund" is approved by ann\n',
  );
  expect(await cli(testbed, ['result', `${own}-f`])).toMatchObject({ exitCode: 0, stdout: 'Paid.\n' });
  expect((await cli(testbed, ['cancel', `${own}-s`])).stdout).toContain(`Cancellation of run "${own}-second" is requested`);
}, 120_000);

test('a chat continues the session whose id a list has cut, and begins none under a cut id', async () => {
  await using testbed = await Testbed.open();
  const id = `${randomUUID()}-talk`;
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('one'), say('two')]) } });
  const chat = (session: string): Promise<CliOutcome> => cli(testbed, ['chat', 'assistant', '--session', session], { stdin: 'Hi\n' });
  expect(await chat(id)).toMatchObject({ exitCode: 0, stdout: 'one\n' });
  const cut = `${id.slice(0, -2)}…`;
  await until(async () => (await cli(testbed, ['session', 'show', cut])).exitCode === 0, 'the server lists the session');
  expect(await chat(cut)).toMatchObject({ exitCode: 0, stdout: 'two\n' });
  expect((await testbed.client.handle(id).status()).session?.turns).toBe(2);

  const none = await chat(`${id}-other…`);
  expect(none).toMatchObject({ exitCode: 2, stdout: '' });
  const list = `npx longhaul sessions --address ${testbed.address}`;
  expect(none.stderr).toBe(`longhaul: No session begins with "${id}-other": list the sessions with ${list}\n`);
});

test("a start with a name that no worker has reports that at once, with the worker's names, and a start with a valid name reports nothing", async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [payer], providers: { scripted: scriptedModel([say('Paid.'), say('Paid.')]) } });
  const wrong = await cli(testbed, ['start', 'beginning_pyer', 'Pay']);
  expect(wrong.stderr).toMatch(
    /No worker has run an agent "beginning_pyer" so far\. Did you mean "beginning_payer"\? Known: .*"beginning_payer".*\. The run is safe/,
  );
  await testbed.client.handle(wrong.stdout.trim()).cancel('misspelt');
  for (let start = 0; start < 2; start += 1)
    expect((await cli(testbed, ['start', 'beginning_payer', 'Pay'])).stderr).not.toContain('No worker');
  const program = await cli(testbed, ['run', 'no_such_program', '--no-wait']);
  expect(program.stderr).toContain('No worker has run a program "no_such_program" so far');
  await testbed.client.handle(program.stdout.trim()).cancel('misspelt');
}, 120_000);
