import { expect, test } from 'vitest';
import { callTool, hang, say, scriptedModel, failWith } from '../../../src/testing/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { search } from '../testbed/agents.ts';
import { executionStatus, Testbed, until } from '../testbed/testbed.ts';

const researcher = defineAgent({ name: 'researcher', model: 'scripted/r', instructions: 'Research.' });
const writer = defineAgent({ name: 'writer', model: 'writing/w', instructions: 'Write.' });

/** The same two agents with a tool. */
const seeker = defineAgent({ name: 'researcher', model: 'scripted/r', tools: [search] });
const author = defineAgent({ name: 'writer', model: 'writing/w', tools: [search] });

test('a workflow of the user runs two agents, one on the result of the other', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('facts')]);
  const writing = scriptedModel([say('a text about facts')]);
  await testbed.work({ agents: [researcher, writer], providers: { scripted, writing } });
  const { workflow } = testbed.client.temporal;
  const report = await workflow.execute('report', { args: ['the Moon'], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  expect(report).toEqual({ text: 'a text about facts', statuses: ['completed', 'completed'], tokens: 30 });
  expect(JSON.stringify(writing.requests[0]?.conversation)).toContain('Write about: facts');

  // The workflow is not a run itself: requests to it name the runs that it has started.
  const id = testbed.taskQueue;
  const server = ['--address', testbed.address];
  const shown = await callCli(['show', id, '--json', ...server]);
  expect(shown.exitCode).toBe(0);
  const { childRuns, ...view } = JSON.parse(shown.stdout) as { childRuns: { runId: string }[] };
  expect(view).toMatchObject({ workflowId: id, workflowType: 'report', status: 'COMPLETED' });
  expect(childRuns).toMatchObject([
    { agentName: 'researcher', status: 'completed' },
    { agentName: 'writer', status: 'completed' },
  ]);
  const { stdout } = await callCli(['show', id, ...server]);
  expect(stdout).toContain(`longhaul show ${childRuns[0]?.runId} --address`);
  for (const command of ['result', 'events', 'cancel']) {
    const { exitCode, stderr } = await callCli([command, id, ...server]);
    expect({ command, exitCode, stderr }).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('is a workflow of type "report"') });
  }
  await expect(testbed.client.handle(id).send('Hello', { timeout: 2_000 })).rejects.toMatchObject({
    code: expect.stringMatching('not_a_run|run_ended'),
  });
  // The Temporal UI shows the question to a child in the history of its parent.
  const { events } = await workflow.getHandle(testbed.taskQueue).fetchHistory();
  const children = (events ?? []).filter((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
  const summaries = children.map(({ userMetadata }) => JSON.parse(String(userMetadata?.summary?.data)) as string);
  expect(summaries).toEqual(['researcher: Research: the Moon', 'writer: Write about: facts']);
});

test('an agent that fails or is cancelled gives its workflow a result', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [researcher], providers: { scripted: scriptedModel([failWith('model_forbidden', 'no access'), hang()]) } });
  const { workflow } = testbed.client.temporal;
  const start = (id: string) =>
    workflow.start('outcome', { args: [id], taskQueue: testbed.taskQueue, workflowId: `${testbed.taskQueue}-${id}` });
  expect(await (await start(`${testbed.taskQueue}-failing`)).result()).toMatchObject({ status: 'error', error: 'no access' });

  const child = `${testbed.taskQueue}-cancelled`;
  const parent = await start(child);
  await until(
    async () =>
      (
        await testbed.client
          .handle(child)
          .status()
          .catch(() => undefined)
      )?.events === 1,
    'the child to think',
  );
  await testbed.client.handle(child).cancel('the child alone');
  expect(await parent.result()).toMatchObject({ status: 'cancelled', cancelReason: 'the child alone' });
});

test('cancelling the workflow cancels the agent that it runs', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang()]);
  await testbed.work({ agents: [researcher], providers: { scripted } });
  const child = `${testbed.taskQueue}-child`;
  const { workflow } = testbed.client.temporal;
  const parent = await workflow.start('outcome', { args: [child], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the agent to think');
  await parent.cancel();
  await expect(parent.result()).rejects.toThrow('Workflow execution cancelled');
  expect(await executionStatus(testbed, testbed.taskQueue)).toBe('CANCELLED');
  expect(await executionStatus(testbed, child)).toBe('CANCELLED');
  expect(await testbed.client.handle(child).result()).toMatchObject({ status: 'cancelled' });
});

test('two agents run inline at the same time, in the history of their host, with separate conversations', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'r' }), say('facts')]);
  const writing = scriptedModel([callTool('search', { query: 'w' }), callTool('search', { query: 'x'.repeat(3_000) }), say('a text')]);
  await testbed.work({ agents: [seeker, author], providers: { scripted, writing } });
  const { workflow } = testbed.client.temporal;
  const report = await workflow.execute('inlineReport', { args: [{}], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  expect(report).toEqual({ texts: ['facts', 'a text'], executions: 1 });
  expect(JSON.stringify(scripted.requests)).not.toContain('found: w');
  expect(JSON.stringify(writing.requests)).not.toContain('found: r');
  expect(JSON.stringify(writing.requests[2]?.conversation)).toContain(`found: ${'x'.repeat(3_000)}`);
});

test('inline agents past the threshold are carried by their host, and end like others', async () => {
  await using testbed = await Testbed.open();
  const steps = 5;
  const script = (answer: string) => [
    ...Array.from({ length: steps }, (_, index) => callTool('search', { query: `${answer} ${index}` })),
    say(answer),
  ];
  const [scripted, writing] = [scriptedModel(script('facts')), scriptedModel(script('a text'))];
  await testbed.work({ agents: [seeker, author], providers: { scripted, writing }, continueAsNew: { events: 40 } });
  const { workflow } = testbed.client.temporal;
  const report = await workflow.execute('inlineReport', { args: [{}], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  expect(report).toMatchObject({ texts: ['facts', 'a text'] });
  expect((report as { executions: number }).executions).toBeGreaterThan(1);
  for (const { requests } of [scripted, writing]) {
    expect(requests).toHaveLength(steps + 1);
    expect(requests.at(-1)?.conversation).toHaveLength(1 + 2 * steps);
  }
});

test.each([['facts'], [undefined]])('an inline agent whose input was refused leaves its key %j free for the next', async (key) => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [researcher], providers: { scripted: scriptedModel([say('facts')]) } });
  const args = [key === undefined ? {} : { key }];
  const { workflow } = testbed.client.temporal;
  const seen = await workflow.execute('inlineAgain', { args, taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  expect(seen).toEqual(['invalid_input', 'invalid_input', `${testbed.taskQueue}/${key ?? 'researcher'}`]);
});

test('an inline agent is queried and cancelled through its host', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang('half')]);
  await testbed.work({ agents: [researcher], providers: { scripted }, heartbeatEvery: 200 });
  const { workflow } = testbed.client.temporal;
  const host = await workflow.start('inlineOutcome', { args: ['facts'], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the agent to think');
  expect(await host.query('facts.status')).toMatchObject({ runId: `${testbed.taskQueue}/facts`, status: 'running', events: 1 });
  await host.executeUpdate('facts.send', { args: [{ id: 'm1', content: 'more' }] });
  await host.cancel();
  await expect(host.result()).rejects.toThrow('Workflow execution cancelled');
  expect(await host.query('facts.context')).toMatchObject({ total: 3, status: 'cancelled' });
});
