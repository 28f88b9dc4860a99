import { defineSearchAttributeKey } from '@temporalio/common';
import { randomUUID } from 'node:crypto';
import { inject, expect, test } from 'vitest';
import { openai } from '../../../worker/index.ts';
import type { ModelClient } from '../../../src/index.ts';
import { secret } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { says } from '../../fakes/openai-answers.ts';
import { startFakeOpenAI } from '../../fakes/openai-server.ts';
import { callCli } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const CUSTOM = defineSearchAttributeKey('CustomKeywordField', 'KEYWORD');

test('model, settings, tags, attributes, memo and priority of a start hold in every execution, and the run is found by its tags', async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue, address } = testbed;
  const { operatorService } = client.temporal.connection as unknown as {
    operatorService: { addSearchAttributes(ask: object): Promise<unknown> };
  };
  await operatorService.addSearchAttributes({ namespace: inject('temporalNamespace'), searchAttributes: { CustomKeywordField: 2 } });
  const scripted = scriptedModel([callTool('search', { query: 'a' }), callTool('search', { query: 'b' }), say('done')]);
  const tags: unknown[] = [];
  const large: ModelClient = { ...scripted, call: (request, context) => (tags.push(context.tags), scripted.call(request, context)) };
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]), large }, continueAsNew: { events: 8 } });
  const tag = `nightly-${randomUUID()}`;
  const run = await client.start(assistant, {
    input: 'Q',
    taskQueue,
    model: 'large/m2',
    settings: { temperature: 0.5 },
    tags: ['acme', tag],
    deadline: '1h',
    searchAttributes: [{ key: CUSTOM, value: 'mine' }],
    memo: { ticket: 17 },
    priority: 2,
    fairnessKey: 'acme',
  });
  expect(await run.result()).toMatchObject({ status: 'completed', outputText: 'done' });
  expect(scripted.requests.map(({ model, settings }) => [model, settings.temperature])).toEqual([1, 2, 3].map(() => ['m2', 0.5]));
  expect(tags).toEqual([1, 2, 3].map(() => ['acme', tag]));
  expect(await run.status()).toMatchObject({ limits: { deadlineMs: 3_600_000 } });
  expect((await run.status()).executions).toBeGreaterThan(1);

  const { memo, typedSearchAttributes, priority } = await client.temporal.workflow.getHandle(run.runId).describe();
  expect(memo).toMatchObject({ ticket: 17 });
  expect(typedSearchAttributes.get(CUSTOM)).toBe('mine');
  expect(priority).toMatchObject({ priorityKey: 2, fairnessKey: 'acme' });

  const listed = () => Array.fromAsync(client.list({ tag }));
  await until(async () => (await listed()).length > 0, 'the run to be listed');
  expect(await listed()).toMatchObject([{ runId: run.runId, agentName: 'assistant', tags: ['acme', tag] }]);
  expect((await callCli(['list', '--tag', tag, '--address', address])).stdout).toMatch(/TAGS[^]*acme, nightly-/);
  expect(await Array.fromAsync(client.list({ tag: tag.slice(0, -13) }))).toEqual([]);
});

test('the command line starts a run with tags, model and settings, and the provider chooses its key by the tags', async () => {
  await using testbed = await Testbed.open();
  const server = await startFakeOpenAI(says('hi'));
  const shared = openai({ baseURL: server.url, apiKey: ({ tags }) => secret(tags.includes('acme') ? 'key/acme' : 'key/default') });
  const secrets = (name: string): string => `value-of-${name}`;
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([]), shared }, secrets });
  const start = ['start', 'assistant', 'Q', '--task-queue', testbed.taskQueue, '--address', testbed.address, '--wait'];
  const flags = [
    '--model',
    'shared/m',
    '--settings',
    '{"temperature": 0.25}',
    '--tag',
    'acme',
    '--tag',
    'cli',
    '--run-id',
    testbed.taskQueue,
  ];
  const { stdout } = await callCli([...start, ...flags, '--priority', '1', '--fairness-key', 'acme', '--memo', '{"by": "cli"}']);
  expect(stdout.trim()).toBe('hi');
  expect(server.requests[0]?.headers.authorization).toBe('Bearer value-of-key/acme');
  expect(server.requests[0]?.body).toMatchObject({ model: 'm', temperature: 0.25 });
  const history = JSON.stringify(await historyOf(testbed, testbed.taskQueue));
  expect(history).not.toContain('value-of-key');
  await server.close();
});
