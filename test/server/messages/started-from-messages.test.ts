import { expect, test } from 'vitest';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';
import type { ContentItem } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const QUESTION = 'a question that is long enough to be found wherever it is stored';
const RESULT = 'a result that is long enough to be found wherever it is stored';

const asked: ContentItem = { type: 'message', role: 'user', content: QUESTION };
const searches: ContentItem = { type: 'tool_call', toolCallId: 'old', name: 'search', arguments: { query: 'q' } };
const found: ContentItem = { type: 'tool_result', toolCallId: 'old', name: 'search', status: 'success', content: [RESULT] };
const answered: ContentItem = { type: 'message', role: 'assistant', content: 'There.' };

test('a run continues a conversation: the model sees it, history has it once, and it is read without a worker', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'new' }, 'c1'), say('done')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const { client, taskQueue } = testbed;
  const run = await client.start(assistant, { messages: [asked, searches, found, answered], input: 'And now?', taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 2, toolCallsTotal: 1 });
  expect(scripted.requests[0]?.conversation).toEqual([
    { author: 'user', content: [asked] },
    { author: 'assistant', content: [searches] },
    { author: 'assistant', content: [found] },
    { author: 'assistant', content: [answered] },
    { author: 'user', content: [{ type: 'message', role: 'user', content: 'And now?' }] },
  ]);

  const stored = (await historyOf(testbed, run)).flatMap(payloadTexts);
  for (const text of [QUESTION, RESULT]) expect(stored.filter((payload) => payload.includes(text))).toHaveLength(1);

  await expectSameFromHistory(testbed, run);
  const live = await Array.fromAsync(run.events());
  expect(live.map(({ given = false }) => given)).toEqual([true, true, true, true, false, false, false, false]);
  await testbed.stopWorkers();
  expect(await Array.fromAsync(client.handle(run.runId).events())).toEqual(live);
});

test('it continues in its next executions like any run', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...['a', 'b', 'c'].map((query) => callTool('search', { query })), say('done')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { events: 8 } });
  const run = await testbed.client.start(assistant, { messages: [asked, searches, found], taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 4 });
  expect((await run.status()).executions).toBeGreaterThan(1);
  await expectSameFromHistory(testbed, run);
});

test('it is retried from one of its own steps', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('search', { query: 'a' }), say('done'), say('done at once')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const run = await testbed.client.start(assistant, { messages: [asked, searches, found], taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ output: 'done', stepsUsed: 2 });
  await run.retry({ fromStep: 1 });
  expect(await run.result()).toMatchObject({ output: 'done at once', stepsUsed: 1 });
  expect(scripted.requests[2]).toEqual(scripted.requests[0]);
});

test('a run that was started another way ends with an error if its messages cannot begin a run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]) } });
  const { client, taskQueue } = testbed;
  const ended = async (name: string, messages: unknown): Promise<unknown> => {
    const workflowId = `${taskQueue}-${name}`;
    await client.temporal.workflow.start('agentRun', { workflowId, taskQueue, args: [{ agent: 'assistant', messages }] });
    return client.handle(workflowId).result();
  };
  expect(await ended('answered', [asked, answered])).toMatchObject({
    status: 'error',
    errorCode: 'invalid_input',
    error: expect.stringContaining('"messages" end with an answer of the assistant: give "input"') as string,
  });
  expect(await ended('malformed', [asked, { type: 'tool_result', toolCallId: 'old' }])).toMatchObject({
    status: 'error',
    errorCode: 'invalid_input',
    error: expect.stringContaining('messages[1]: missing required field "name"') as string,
  });
  expect(await ended('large', [{ ...asked, content: 'x'.repeat(400_000) }])).toMatchObject({
    status: 'error',
    errorCode: 'payload_too_large',
  });
});

test('a workflow and the command line start runs from messages, too', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('by a child'), say('inline'), say('by the command line')]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const { client, taskQueue, address } = testbed;
  const opening = { messages: [asked, searches] };
  const texts = await client.temporal.workflow.execute('wentOn', { args: [opening], taskQueue, workflowId: `${taskQueue}-host` });
  expect(texts).toEqual(['by a child', 'inline']);
  const flags = ['--messages-json', JSON.stringify(opening.messages), '--task-queue', taskQueue, '--address', address];
  expect((await callCli(['start', 'assistant', ...flags, '--wait'])).stdout.trim()).toBe('by the command line');
  const interrupted = { ...found, status: 'error', content: [INTERRUPTED_CALL] };
  for (const { conversation } of scripted.requests) {
    expect(conversation.flatMap(({ content }) => content)).toEqual([asked, searches, interrupted]);
  }
});

/** Every payload of an event, as text. */
function payloadTexts(event: object): string[] {
  return Object.values(event).flatMap((value: unknown): string[] => {
    if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
    return typeof value === 'object' && value !== null ? payloadTexts(value) : [];
  });
}
