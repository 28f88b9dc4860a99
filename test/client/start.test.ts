import { type Client, ServiceError, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defaultPayloadConverter, defineSearchAttributeKey } from '@temporalio/common';
import { programInput, type StartOptions, startProgram, startRun } from '../../src/client/start-workflow.ts';
import { defineAgent, secret } from '../../src/index.ts';
import { assistant } from '../server/testbed/agents.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { ask, defineProgram, unit } from '../../src/define/program/index.ts';
import { noticeOfStart } from '../../src/client/missing-workers.ts';

/** A client that sends nothing, and the requests that it would have sent. */
function quietClient(): { client: Client; start: ReturnType<typeof vi.fn<Client['workflow']['start']>> } {
  const start = vi.fn<Client['workflow']['start']>();
  return { client: { workflow: { start } } as unknown as Client, start };
}

describe('deps that must not enter a history are refused with their path before anything is sent', () => {
  test.each<[string, unknown, string]>([
    ['a function', { tools: [() => 1] }, 'deps.tools[0] is a function'],
    ['a live object', { pool: new Map() }, 'deps.pool is an object of class "Map"'],
    ['a reference to a secret', { crm: secret('crm-token') }, 'deps.crm is a reference to secret "crm-token"'],
    ['a text under the name of a credential', { crm: { api_key: 'v8-Kq2' } }, 'deps.crm.api_key is a text under the name of a credential'],
  ])('%s', async (_, deps, problem) => {
    const { client, start } = quietClient();
    for (const agent of [assistant, 'assistant']) {
      await expect(startRun(client, agent, { input: 'Q', deps })).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining(`The run cannot start: ${problem}`),
      });
    }
    expect(start).not.toHaveBeenCalled();
  });
});

describe('a state that must not enter a history is refused in the same way', () => {
  test.each<[string, unknown, string]>([
    ['a function', { tools: [() => 1] }, 'state.tools[0] is a function: the state is JSON, stored in the history of the run'],
    ['a reference to a secret', { crm: secret('crm-token') }, 'state.crm is a reference to secret "crm-token"'],
    ['a text under the name of a credential', { crm: { api_key: 'v8-Kq2' } }, 'state.crm.api_key is a text under the name of a credential'],
    ['a list', [1], 'state: expected an object of JSON values'],
  ])('%s', async (_, state, problem) => {
    const { client, start } = quietClient();
    const message = expect.stringContaining(`The run cannot start: ${problem}`) as string;
    await expect(startRun(client, assistant, { input: 'Q', state: state as never })).rejects.toMatchObject({
      code: 'invalid_input',
      message,
    });
    await expect(startProgram(client, 'p', { state: state as never })).rejects.toMatchObject({ code: 'invalid_input', message });
    expect(start).not.toHaveBeenCalled();
  });

  test('and an input that is too large', async () => {
    const { client } = quietClient();
    const state = { a: 'x'.repeat(150_000) };
    await expect(startRun(client, assistant, { input: 'Q', state })).rejects.toMatchObject({ code: 'payload_too_large' });
    await expect(startProgram(client, 'p', { state })).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});

describe('an id that is taken', () => {
  /** A client of a server that has a run with this input. */
  function serverWith(workflowType: string, input: object): Client {
    const startEvent = { workflowType: { name: workflowType }, input: { payloads: [defaultPayloadConverter.toPayload(input)] } };
    const getWorkflowExecutionHistory = async () => ({
      history: { events: [{ workflowExecutionStartedEventAttributes: startEvent }] },
    });
    const start = vi.fn<Client['workflow']['start']>(async () => {
      throw new WorkflowExecutionAlreadyStartedError('taken', 'r', workflowType);
    });
    const loadedDataConverter = { payloadConverter: defaultPayloadConverter, payloadCodecs: [] };
    const parts = {
      workflow: { start },
      workflowService: { getWorkflowExecutionHistory },
      options: { namespace: 'n', loadedDataConverter },
    };
    return parts as unknown as Client;
  }

  const ofAgent = { agent: 'assistant', input: 'Q' };
  const start = { input: 'Q', runId: 'r', ifExists: 'return' } as const;

  test('is returned if its run is of the agent or the program that is started', async () => {
    expect(await startRun(serverWith('agentRun', ofAgent), 'assistant', start)).toBe('r');
    const program = { program: 'report', input: {} };
    expect(await startProgram(serverWith('programRun', program), 'report', { runId: 'r', ifExists: 'return' })).toBe('r');
  });

  test.each([
    ['another agent', 'agentRun', { ...ofAgent, agent: 'clerk' }, 'a run of agent "clerk", not a run of agent "assistant"'],
    ['a program', 'programRun', { program: 'assistant', input: {} }, 'a run of program "assistant", not a run of agent "assistant"'],
    ['a session', 'agentRun', { ...ofAgent, session: {} }, 'a session of agent "assistant", not a run of agent "assistant"'],
  ])('is refused if it belongs to %s, whatever is to happen with an existing run', async (_, type, input, told) => {
    for (const ifExists of ['return', 'restartFailed'] as const) {
      await expect(startRun(serverWith(type, input), 'assistant', { ...start, ifExists })).rejects.toMatchObject({
        code: 'run_exists',
        message: `Run "r" exists already, and is ${told}: choose another run id`,
      });
    }
  });

  test('is refused if it belongs to an agent and a program is started, and for a workflow of the user', async () => {
    const options = { runId: 'r', ifExists: 'return' } as const;
    const message = 'Run "r" exists already, and is a run of agent "report", not a run of program "report": choose another run id';
    await expect(startProgram(serverWith('agentRun', { agent: 'report' }), 'report', options)).rejects.toMatchObject({ message });
    await expect(startRun(serverWith('mine', {}), 'assistant', start)).rejects.toMatchObject({ code: 'not_a_run' });
  });
});

test("missing deps that the agent's schema requires are refused before anything is sent; missing deps with defaults are accepted", async () => {
  const { client, start } = quietClient();
  const agent = defineAgent({ name: 'a', model: 'p/m', deps: z.object({ user: z.string(), locale: z.string().default('en') }) });
  for (const deps of [undefined, {}]) {
    await expect(startRun(client, agent, { input: 'Q', deps })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'The deps do not fit agent "a": deps.user is missing. Start it with { deps: { user: … } }',
    });
  }
  expect(start).not.toHaveBeenCalled();
  await startRun(client, agent, { input: 'Q', deps: { user: 'ada' } });
  expect(start).toHaveBeenCalledOnce();
});

test('a program that has no such step to resume from is refused before anything is sent; by its name alone, its worker checks it', async () => {
  const { client, start } = quietClient();
  const { document } = defineProgram({ name: 'report', model: 'p/m', units: [unit('u', {}, [ask('Draft', 'Write it.')])] });
  await expect(startProgram(client, document, { resume: { run: 'r', from: 'u.Darft' } })).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'The run cannot resume from "u.Darft": program "report" has no such step. Did you mean "u.Draft"?',
  });
  expect(start).not.toHaveBeenCalled();
  await startProgram(client, document, { resume: { run: 'r', from: 'u.Draft' } });
  await startProgram(client, 'report', { resume: { run: 'r', from: 'u.Darft' } });
  expect(start).toHaveBeenCalledTimes(2);
});

test('other deps are sent unchanged', async () => {
  const { client, start } = quietClient();
  const deps = { user: { id: 1, tokenBudget: 7 }, nextPageToken: 'p2' };
  await startRun(client, assistant, { input: 'Q', deps, runId: 'r' });
  expect(start).toHaveBeenCalledWith(
    'agentRun',
    expect.objectContaining({ workflowId: 'r', args: [{ agent: 'assistant', input: 'Q', deps }] }),
  );
});

test.each([
  ['refuse', 'write "fail", "return" or "restartFailed"'],
  ['restart', 'write "fail", "return" or "restartFailed"'],
])('an invalid "ifExists" is refused before anything is sent: %j', async (ifExists, instead) => {
  const { client, start } = quietClient();
  await expect(startRun(client, assistant, { input: 'Q', ifExists: ifExists as 'fail' })).rejects.toMatchObject({
    code: 'invalid_input',
    message: `The run cannot start: "ifExists" is "${ifExists}": ${instead}`,
  });
  expect(start).not.toHaveBeenCalled();
});

test.each([
  ['maxIterations', 3, 'the start has an unknown option "maxIterations"'],
  ['limits', { maxIterations: 3 }, '"limits" has an unknown option "maxIterations" (known: steps, '],
  ['limits', { steps: 0 }, '"limits.steps" is 0: write a whole number of at least 1'],
])('steps are limited by limits.steps alone: %s %j', async (name, value, problem) => {
  const { client, start } = quietClient();
  await expect(startRun(client, assistant, { input: 'Q', [name]: value })).rejects.toThrow(problem);
  expect(start).not.toHaveBeenCalled();
  await startRun(client, assistant, { input: 'Q', limits: { steps: 3, toolCalls: 2 }, runId: 'r' });
  const input = { agent: 'assistant', input: 'Q', limits: { steps: 3, toolCalls: 2 } };
  expect(start).toHaveBeenCalledWith('agentRun', expect.objectContaining({ args: [input] }));
});

const tenant = defineSearchAttributeKey('Tenant', 'KEYWORD');

test('model, settings, tags and deadline are in the input of the run, and all other options are next to it', async () => {
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
  const agent = defineSearchAttributeKey('LonghaulAgent', 'KEYWORD');
  expect(options?.typedSearchAttributes).toEqual([
    { key: tenant, value: 'acme' },
    { key: agent, value: 'assistant' },
  ]);
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
    'typedSearchAttributes',
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

  test('is refused with the path of an invalid item', async () => {
    const { client, start } = quietClient();
    await expect(startRun(client, 'assistant', { messages: [hi, { role: 'user', content: 'x' } as never] })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('messages[1]: missing required field "type"') as string,
    });
    expect(start).not.toHaveBeenCalled();
  });
});

describe('options that a run cannot start with are refused before anything is sent', () => {
  test.each<[string, Partial<StartOptions>, string]>([
    ['a model without provider', { model: 'gpt-5' as 'p/m' }, 'agent "assistant": model "gpt-5" has no provider: write "provider/model"'],
    ['an unknown setting', { settings: { heat: 1 } as object }, 'agent "assistant": "settings" has an unknown option "heat"'],
    ['a setting out of range', { settings: { temperature: 9 } }, '"settings.temperature" is 9: write a number from 0 to 2'],
    ['a tag twice', { tags: ['a', 'a'] }, 'tags[1]: expected a tag that is not listed yet, got "a"'],
    ['too many tags', { tags: Array.from({ length: 21 }, (_, n) => `t${n}`) }, 'tags: expected at most 20 items, got 21'],
    ['a tag that is too long', { tags: ['x'.repeat(101)] }, 'tags[0]: expected at most 100 characters, got 101'],
    ['settings that are too large', { settings: { extra: { text: 'x'.repeat(16_000) } } }, 'settings: 16'],
    [
      'an attribute of ours',
      { searchAttributes: [{ key: defineSearchAttributeKey('LonghaulTag', 'KEYWORD'), value: 'x' }] },
      'the search attribute "LonghaulTag" is Longhaul\'s own',
    ],
    ['attributes that are not a list', { searchAttributes: { Tenant: 'acme' } as never }, '"searchAttributes" is not a list'],
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

const units = [unit('one', {}, [ask('Say', 'About {{input.topic}} in {{input.language}}', { model: 'p/m' })])];
const input = z.object({
  topic: z.string(),
  language: z.string().default('English'),
  depth: z.object({ most: z.number().default(3) }).default({ most: 3 }),
});
const program = defineProgram({ name: 'essay', input, units });

test('a program that is started by its definition is sent the defaults of its schema', () => {
  expect(programInput(program, { input: { topic: 'cats' } })).toEqual({
    program: 'essay',
    input: { topic: 'cats', language: 'English', depth: { most: 3 } },
  });
});

test('values that are given replace the defaults', () => {
  const given = { topic: 'cats', language: 'German', depth: { most: 1 } };
  expect(programInput(program, { input: given }).input).toEqual(given);
});

test('an input that does not fit is refused with the field', () => {
  expect(() => programInput(program, { input: { topic: 7 } })).toThrow('The input does not fit program "essay": input.topic: ');
  expect(() => programInput(program, {})).toThrow('input.topic: ');
  expect(() => programInput(program, { input: { topic: 'cats', depth: { most: 'all' } } })).toThrow('input.depth.most: ');
});

test('the input of a document or a name is not changed', () => {
  const given = { topic: 'cats', language: 'German', depth: { most: 1 } };
  expect(programInput(program.toJSON(), { input: given }).input).toEqual(given);
  expect(programInput('essay', { input: { topic: 'cats' } })).toEqual({ program: 'essay', input: { topic: 'cats' } });
  expect(programInput('essay', {})).toEqual({ program: 'essay' });
});

test('a program without a schema is started without an input', () => {
  expect(programInput(defineProgram({ name: 'plain', units: [unit('one', {}, [ask('Say', 'Hello', { model: 'p/m' })])] }), {})).toEqual({
    program: 'plain',
  });
});

let namespaces = 0;

/** A client of a separate namespace whose newest runs are of these agents. */
function clientWith(agents: string[], count = 0): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const attribute = (name: string): object => ({ indexedFields: { LonghaulAgent: { data: Buffer.from(JSON.stringify(name)) } } });
  const client: object = {
    options: { namespace: `unseen-${(namespaces += 1)}` },
    workflow: {
      count: async () => {
        asked.push('count');
        return { count };
      },
    },
    workflowService: {
      listWorkflowExecutions: async () => {
        asked.push('list');
        return { executions: agents.map((name) => ({ searchAttributes: attribute(name) })) };
      },
    },
  };
  return { client: client as Client, asked };
}

const refnd = { kind: 'agent', name: 'refnd', runId: 'r' } as const;

test('the notice names the agents of the newest runs, and the nearest one', async () => {
  const { client } = clientWith(['clerk', 'refund', 'clerk']);
  expect(await noticeOfStart(client, refnd)).toBe(
    'No worker has run an agent "refnd" so far. Did you mean "refund"? Known: "clerk", "refund". The run is safe, and begins as soon as a worker has it.',
  );
});

test('without a run there are no names', async () => {
  const { client } = clientWith([]);
  expect(await noticeOfStart(client, { ...refnd, kind: 'program' })).toBe(
    'No worker has run a program "refnd" so far. The run is safe, and begins as soon as a worker has it.',
  );
});

test('a caller is told only the names that it may know', async () => {
  const { client } = clientWith(['refund', 'clerk']);
  const notice = await noticeOfStart(client, refnd, { mayName: (name) => name === 'clerk' });
  expect(notice).toContain('Known: "clerk".');
  expect(notice).not.toContain('refund');
});

test('ten names are listed at most', async () => {
  const { client } = clientWith(Array.from({ length: 30 }, (_, index) => `other-${index}`));
  expect(await noticeOfStart(client, refnd)).toMatch(/"other-9", …\. The run/);
});

test('the server is asked once for a name that a worker has had, and once a minute for the names', async () => {
  const had = clientWith(['refnd'], 2);
  for (let start = 0; start < 3; start += 1) expect(await noticeOfStart(had.client, refnd)).toBeUndefined();
  expect(had.asked).toEqual(['count']);
  const unknown = clientWith(['clerk']);
  for (let start = 0; start < 3; start += 1) await noticeOfStart(unknown.client, refnd);
  expect(unknown.asked).toEqual(['count', 'list', 'count', 'count']);
});
