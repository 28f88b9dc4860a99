import { expect, test } from 'vitest';
import type { ModelRequest } from '../../src/domain/model.ts';
import { defineAgent } from '../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptEntry, together } from '../../src/testing/index.ts';
import { assistant, broken, search } from './agents.ts';
import { Testbed } from './testbed.ts';

/** So low that a run continues as new after every step. */
const EVERY_STEP = { events: 8 };

const SCRIPT: ScriptEntry[] = [
  together(say('first'), callTool('search', { query: 'one' }, 'c1'), callTool('broken', {}, 'c2')),
  together(say('second'), callTool('search', { query: 'two' }, 'c3'), callTool('nope', {}, 'c4')),
  callTool('search', { query: 'three' }, 'c5'),
  say('done'),
];

interface Told {
  requests: readonly ModelRequest[];
  result: object;
  executions: number;
}

async function tell(continueAsNew?: Partial<Record<'events' | 'bytes' | 'updates', number>>, transcriptCacheSize?: number): Promise<Told> {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await testbed.work({
    agents: [assistant],
    providers: { scripted },
    ...(continueAsNew === undefined ? {} : { continueAsNew }),
    ...(transcriptCacheSize === undefined ? {} : { transcriptCacheSize }),
  });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, deps: { user: 1 } });
  const { runId: _, startTime: __, endTime: ___, durationSeconds: ____, ...result } = await run.result();
  return { requests: scripted.requests, result, executions: (await run.status()).executions };
}

test('a run that continues as new after every step asks the model the same, and has the same result', async () => {
  const whole = await tell();
  const split = await tell(EVERY_STEP);
  expect(whole.executions).toBe(1);
  expect(split.executions).toBeGreaterThanOrEqual(4);
  expect(JSON.stringify(split.requests)).toBe(JSON.stringify(whole.requests));
  expect(split.result).toEqual(whole.result);
});

test('a cold cache asks the next execution for the window, and sends the same requests', async () => {
  const [whole, cold] = [await tell(), await tell(EVERY_STEP, 1)];
  expect(JSON.stringify(cold.requests)).toBe(JSON.stringify(whole.requests));
});

test('calls in sequence that no longer fit an execution are started in the next, each of them once', async () => {
  await using testbed = await Testbed.open();
  const sequential = defineAgent({ name: 'sequential', model: 'scripted/m', tools: [search, broken], parallel: false });
  const calls = Array.from({ length: 6 }, (_, index) => callTool('search', { query: `q${index}` }, `c${index}`));
  const [first = say(''), ...others] = calls;
  const scripted = scriptedModel([together(first, ...others), say('done')]);
  await testbed.work({ agents: [sequential], providers: { scripted }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(sequential, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', stepsUsed: 2, toolCallsTotal: 6 });
  expect((await run.status()).executions).toBeGreaterThanOrEqual(3);
  const results = scripted.requests[1]?.conversation.at(-1)?.content;
  expect(results).toMatchObject(calls.map((_, index) => ({ toolCallId: `c${index}`, content: [`found: q${index}`] })));
});

test('a paused run continues as new while it waits, and goes on when it is resumed', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('done'), say('answered')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { updates: 5 } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  // Before a worker has taken the first step or after: a run is paused between two steps.
  await run.pause();
  for (let message = 1; message <= 12; message += 1) await run.send(`message ${message}`, { id: `m${message}` });
  const { status, executions } = await run.status();
  if (status === 'paused') expect(executions).toBeGreaterThanOrEqual(2);
  await run.resume();
  expect(await run.result()).toMatchObject({ status: 'completed' });
  const asked = JSON.stringify(scripted.requests.at(-1)?.conversation);
  for (let message = 1; message <= 12; message += 1) expect(asked).toContain(`message ${message}"`);
});
