import type { Client } from '@temporalio/client';
import { ServiceError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { describe, expect, test, vi } from 'vitest';
import { type StartOptions, startProgram, startRun } from '../../src/client/start.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { defineAgent } from '../../src/index.ts';
import { assistant } from '../server/testbed/agents.ts';

/** A client that sends nothing, and the requests that it would have sent. */
function quietClient(): { client: Client; start: ReturnType<typeof vi.fn<Client['workflow']['start']>> } {
  const start = vi.fn<Client['workflow']['start']>();
  return { client: { workflow: { start } } as unknown as Client, start };
}

const tenant = defineSearchAttributeKey('Tenant', 'KEYWORD');

test('model, settings, tags and deadline are in the input of the run, and all other options beside it', async () => {
  const { client, start } = quietClient();
  await startRun(client, assistant, {
    input: 'Q',
    model: 'openai/gpt-5',
    settings: { temperature: 0, extra: { seed: 7 } },
    tags: ['acme', 'nightly'],
    deadline: '2h',
    limits: { toolCalls: 3 },
    searchAttributes: [{ key: tenant, value: 'acme' }],
    memo: { ticket: 17 },
    priority: 1,
    fairnessKey: 'acme',
  });
  const [, options] = start.mock.calls[0] ?? [];
  expect(options).toMatchObject({
    args: [
      {
        agent: 'assistant',
        input: 'Q',
        model: 'openai/gpt-5',
        settings: { temperature: 0, extra: { seed: 7 } },
        tags: ['acme', 'nightly'],
        limits: { toolCalls: 3, deadlineMs: 7_200_000 },
      },
    ],
    memo: { ticket: 17 },
    priority: { priorityKey: 1, fairnessKey: 'acme' },
  });
  expect(options?.typedSearchAttributes).toEqual([{ key: tenant, value: 'acme' }]);
});

test('a live run is marked in its input, and another one is not', async () => {
  const { client, start } = quietClient();
  await startRun(client, assistant, { input: 'Q', live: true });
  await startRun(client, assistant, { input: 'Q', live: false });
  await startProgram(client, 'sorting', { live: true });
  await startProgram(client, 'sorting', { live: false });
  expect(start.mock.calls.map(([, options]) => options.args)).toEqual([
    [{ agent: 'assistant', input: 'Q', live: true }],
    [{ agent: 'assistant', input: 'Q' }],
    [{ program: 'sorting', live: true }],
    [{ program: 'sorting' }],
  ]);
  await expect(startRun(client, assistant, { input: 'Q', live: 'yes' as never })).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'The run cannot start: live: expected true, got "yes"',
  });
});

test('a start without options is sent as before', async () => {
  const { client, start } = quietClient();
  await startRun(client, assistant, { input: 'Q', runId: 'r' });
  const [, options] = start.mock.calls[0] ?? [];
  expect(Object.keys(options ?? {}).toSorted()).toEqual([
    'args',
    'staticSummary',
    'taskQueue',
    'workflowId',
    'workflowIdConflictPolicy',
    'workflowIdReusePolicy',
  ]);
  expect(options?.args).toEqual([{ agent: 'assistant', input: 'Q' }]);
});

describe('a start from messages', () => {
  const hi = { type: 'message', role: 'user', content: 'Hi' } as const;
  const hello = { type: 'message', role: 'assistant', content: 'Hello' } as const;

  test('sends them with the input, or alone if they need a response', async () => {
    const { client, start } = quietClient();
    await startRun(client, assistant, { messages: [hi, hello], input: 'And?' });
    await startRun(client, assistant, { messages: [hi] });
    expect(start.mock.calls.map(([, options]) => [options.args, options.staticSummary])).toEqual([
      [[{ agent: 'assistant', messages: [hi, hello], input: 'And?' }], 'assistant: And?'],
      [[{ agent: 'assistant', messages: [hi] }], 'assistant: Hi'],
    ]);
  });

  test('is a usage error if they end with an answer and no input follows', async () => {
    const { client, start } = quietClient();
    const starting = startRun(client, 'assistant', { messages: [hi, hello] });
    await expect(starting).rejects.toThrow(UsageError);
    await expect(starting).rejects.toThrow('The run cannot start: "messages" end with an answer of the assistant: give "input"');
    expect(start).not.toHaveBeenCalled();
  });

  test('is refused with the path of an item that is none', async () => {
    const { client, start } = quietClient();
    await expect(startRun(client, 'assistant', { messages: [hi, { role: 'user', content: 'x' } as never] })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('messages[1]: missing required field "type"') as string,
    });
    expect(start).not.toHaveBeenCalled();
  });
});

describe('options with which a run cannot start are refused before anything is sent', () => {
  test.each<[string, Partial<StartOptions>, string]>([
    ['a model without provider', { model: 'gpt-5' as 'p/m' }, 'agent "assistant": model "gpt-5" has no provider: write "provider/model"'],
    ['an unknown setting', { settings: { heat: 1 } as object }, 'agent "assistant": "settings" has an unknown option "heat"'],
    ['a setting out of range', { settings: { temperature: 9 } }, '"settings.temperature" is 9: write a number from 0 to 2'],
    ['a tag twice', { tags: ['a', 'a'] }, 'tags[1]: expected a tag that is not there yet, got "a"'],
    ['too many tags', { tags: Array.from({ length: 21 }, (_, n) => `t${n}`) }, 'tags: expected at most 20 items, got 21'],
    ['a tag that is too long', { tags: ['x'.repeat(101)] }, 'tags[0]: expected at most 100 characters, got 101'],
    ['settings that are too large', { settings: { extra: { text: 'x'.repeat(16_000) } } }, 'settings: 16'],
    [
      'an attribute of ours',
      { searchAttributes: [{ key: defineSearchAttributeKey('LonghaulTag', 'KEYWORD'), value: 'x' }] },
      'the search attribute "LonghaulTag" is Longhaul\'s own',
    ],
    ['attributes that are no list', { searchAttributes: { Tenant: 'acme' } as never }, '"searchAttributes" is not a list'],
    ['a memo of ours', { memo: { longhaulResult: 1 } }, 'the memo "longhaulResult" is Longhaul\'s own'],
    ['a memo that is too large', { memo: { text: 'x'.repeat(32_000) } }, '"memo" has 32'],
    ['an invalid memo', { memo: [] as never }, '"memo" must be an object'],
    ['a priority of 0', { priority: 0 }, '"priority" is 0: write a whole number of at least 1'],
    ['a fairness key that is too long', { fairnessKey: 'ü'.repeat(33) }, 'write a text of at most 64 bytes'],
    [
      'a secret among the claims',
      { principal: { user: 'ada', claims: { apiKey: 'k' } } },
      'principal.claims.apiKey is a text under the name of a credential',
    ],
    ['two deadlines', { deadline: '1h', limits: { deadline: '2h' } }, 'there are two deadlines'],
    ['a deadline without a unit', { deadline: '2' as '2h' }, '"limits.deadline" is "2"'],
  ])('%s', async (_, options, problem) => {
    const { client, start } = quietClient();
    for (const agent of [assistant, 'assistant']) {
      await expect(startRun(client, agent, { input: 'Q', ...options })).rejects.toThrow(problem);
    }
    expect(start).not.toHaveBeenCalled();
  });

  test('a tool choice that the agent lacks, if the agent is passed as an object', async () => {
    const { client, start } = quietClient();
    const agent = defineAgent({ name: 'a', model: 'p/m' });
    await expect(startRun(client, agent, { input: 'Q', settings: { toolChoice: { tool: 'x' } } })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('"settings.toolChoice" names the tool "x", which the agent does not have') as string,
    });
    expect(start).not.toHaveBeenCalled();
  });
});

test('a search attribute that the namespace lacks is an error with the remedy', async () => {
  const { client, start } = quietClient();
  const cause = Object.assign(new Error('3 INVALID_ARGUMENT'), {
    code: 3,
    details: 'no mapping for search attribute Tenant',
    metadata: {},
  });
  start.mockRejectedValue(new ServiceError('Failed to start Workflow', { cause }));
  const searchAttributes = [{ key: tenant, value: 'acme' }];
  await expect(startRun(client, assistant, { input: 'Q', searchAttributes })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(/no mapping for search attribute Tenant.*temporal operator search-attribute create/) as string,
  });
  await expect(startRun(client, assistant, { input: 'Q' })).rejects.toThrow('Failed to start Workflow');
});
