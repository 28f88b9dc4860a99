import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { callTool, say, type ScriptedModel, scriptedModel, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const SECRETISH = 'a sentence that is long enough to be found wherever it is stored';

const SCRIPT: ScriptEntry[] = [
  together(say('first'), callTool('search', { query: SECRETISH }, 'c1'), callTool('broken', {}, 'c2')),
  together(say('second'), callTool('search', { query: 'two' }, 'c3'), callTool('nope', {}, 'c4')),
  callTool('search', { query: 'three' }, 'c5'),
  say('done'),
];

/** Does the run on a separate testbed, and returns its model requests, byte for byte. */
async function requestsOf(prepare: (testbed: Testbed, scripted: ScriptedModel) => Promise<void>): Promise<string[]> {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await prepare(testbed, scripted);
  await testbed.client.run(assistant, { input: SECRETISH, taskQueue: testbed.taskQueue, deps: { user: 1 } });
  return bytes(scripted.requests);
}

function bytes(requests: readonly ModelRequest[]): string[] {
  return requests.map((request) => JSON.stringify(request));
}

test('a warm cache, no cache and two workers in turn send byte-identical requests', async () => {
  const warm = await requestsOf(async (testbed, scripted) => {
    await testbed.work({ agents: [assistant], providers: { scripted } });
  });
  expect(warm).toHaveLength(SCRIPT.length);
  const evicted = await requestsOf(async (testbed, scripted) => {
    await testbed.work({ agents: [assistant], providers: { scripted }, transcriptCacheSize: 1 });
  });
  expect(evicted).toEqual(warm);
  const workflowEvicted = await requestsOf(async (testbed, scripted) => {
    await testbed.work({ agents: [assistant], providers: { scripted }, transcriptCacheSize: 1, worker: { maxCachedWorkflows: 1 } });
  });
  expect(workflowEvicted).toEqual(warm);
  // Two workers on one queue: each has seen half of the conversation.
  const shared = await requestsOf(async (testbed, scripted) => {
    await testbed.work({ agents: [assistant], providers: { scripted }, worker: { maxConcurrentActivityTaskExecutions: 1 } });
    await testbed.work({ agents: [assistant], providers: { scripted }, worker: { maxConcurrentActivityTaskExecutions: 1 } });
  });
  expect(shared).toEqual(warm);
}, 60_000);

test('a run that moves to another worker in the middle sends the same requests from a cold cache', async () => {
  const expected = await requestsOf(async (testbed, scripted) => {
    await testbed.work({ agents: [assistant], providers: { scripted } });
  });
  await using testbed = await Testbed.open();
  const requests: string[] = [];
  let handOver = (): void => undefined;
  const handedOver = new Promise<void>((resolve) => (handOver = resolve));
  const played = scriptedModel(SCRIPT);
  const scripted: typeof played = {
    ...played,
    call: async (request, context) => {
      requests.push(JSON.stringify(request));
      const answer = await played.call(request, context);
      if (requests.length === 2) handOver();
      return answer;
    },
  };
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const running = testbed.client.run(assistant, { input: SECRETISH, taskQueue: testbed.taskQueue, deps: { user: 1 } });
  await handedOver;
  await testbed.stopWorkers();
  await testbed.work({ agents: [assistant], providers: { scripted } });
  expect(await running).toMatchObject({ status: 'completed' });
  expect(requests).toEqual(expected);
}, 60_000);

test('a reset run sends the same requests up to the reset, and then those that follow from its own history', async () => {
  await using testbed = await Testbed.open();
  const script: ScriptEntry[] = [
    callTool('search', { query: 'one' }, 'c1'),
    callTool('search', { query: 'two' }, 'c2'),
    say('done'),
    // After the reset, the second response differs but has the same counters and activity ids.
    callTool('search', { query: 'another two' }, 'c2'),
    say('done differently'),
  ];
  const scripted = scriptedModel(script);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const { runId } = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });

  const history = await historyOf(testbed, runId);
  const secondCall = history.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'callModel')[1];
  const { temporal: client } = testbed.client;
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId: runId },
    reason: 'test',
    requestId: `${runId}-reset`,
    workflowTaskFinishEventId: secondCall?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId ?? null,
  });
  await until(() => scripted.requests.length === 5, 'the run to continue after the reset');
  expect(await testbed.client.handle(runId).result()).toMatchObject({ status: 'completed', output: 'done differently' });

  const [first, second, , again, last] = bytes(scripted.requests);
  expect(again).toBe(second);
  expect(first).not.toBe(second);
  expect(last).toContain('another two');
  expect(last).not.toContain('"query":"two"');
}, 60_000);

test('no activity input holds the conversation: the first message, an argument and a result enter the history once each', async () => {
  await using testbed = await Testbed.open();
  const long = 'x'.repeat(2_000);
  const script = [callTool('search', { query: `${SECRETISH} ${long}` }, 'c1'), callTool('search', { query: 'b' }, 'c2'), say('done')];
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(script) } });
  const { runId } = await testbed.client.run(assistant, { input: `question ${long}`, taskQueue: testbed.taskQueue });
  const history = await historyOf(testbed, runId);
  const inputs = history.flatMap((event) => event.activityTaskScheduledEventAttributes?.input?.payloads ?? []);
  const sizes = inputs.map((payload) => payload.data?.length ?? 0);
  expect(sizes.length).toBeGreaterThan(4);
  expect(Math.max(...sizes)).toBeLessThan(400);
  // The argument is in the model's response and in the tool's result: twice, both times as content. It is never in an input.
  const stored = history.flatMap(payloadTexts);
  expect(stored.filter((text) => text.includes(`${SECRETISH} ${long}`))).toHaveLength(2);
  expect(stored.filter((text) => text.includes(`question ${long}`))).toHaveLength(1);
});

/** All payloads of an event, as text. */
function payloadTexts(event: object): string[] {
  return Object.values(event).flatMap((value: unknown): string[] => {
    if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
    return typeof value === 'object' && value !== null ? payloadTexts(value) : [];
  });
}
