import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildSnapshot } from '../../../activities/agents/build-snapshot.ts';
import { askHuman, defineAgent, defineTool } from '../../../src/index.ts';
import type { PriceTable } from '../../../src/model/models.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const agent = defineAgent({ name: 'one', model: 'p/m' });
const circumstances = {
  instructions: [],
  capabilities: scriptedModel([]).capabilities,
  heartbeatMs: 5_000,
  searchAttributes: false,
};

const refund = defineTool({
  name: 'refund',
  description: 'Refunds.',
  parameters: z.object({ cents: z.int() }),
  execute: () => 'done',
  approval: { when: ({ cents }) => cents > 1_000, deadline: '1h' },
});
const lookUp = defineTool({ name: 'look_up', description: 'Looks up.', parameters: z.object({}), execute: () => 'found' });

test('the snapshot of a worker that upgrades on continue-as-new says so', () => {
  expect(buildSnapshot(agent, { ...circumstances, upgradeOnContinueAsNew: true })).toHaveProperty('upgradeOnContinueAsNew', true);
});

test('without that option, a versioned and an unversioned worker have equal snapshots', () => {
  expect(buildSnapshot(agent, { ...circumstances, upgradeOnContinueAsNew: false })).toEqual(buildSnapshot(agent, circumstances));
});

test('the version of a tool and the description of the agent are pinned, if there are any', () => {
  const tools = [lookUp, { ...refund, version: '2' }];
  const snapshot = buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', description: 'Answers.', tools }), circumstances);
  expect(snapshot.description).toBe('Answers.');
  expect(snapshot.tools.map(({ version }) => version)).toEqual([undefined, '2']);
  expect(buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m' }), circumstances)).not.toHaveProperty('description');
});

test('the label of a tool is pinned, if the tool has one', () => {
  const tools = [lookUp, { ...refund, label: 'Refund' }];
  const snapshot = buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', tools }), circumstances);
  expect(snapshot.tools[0]).not.toHaveProperty('label');
  expect(snapshot.tools[1]).toHaveProperty('label', 'Refund');
});

test('a memory is pinned with its tools, and an agent without a memory pins nothing', () => {
  const pinned = buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', tools: [lookUp], memory: true }), circumstances);
  expect(pinned.memory).toEqual({ recall: { topK: 5, maxBytes: 4_096 }, tools: true });
  expect(pinned.tools.map(({ name, ofMemory, category }) => [name, ofMemory, category])).toEqual([
    ['look_up', undefined, undefined],
    ['remember', true, 'write'],
    ['recall', true, 'read'],
    ['forget', true, 'write'],
  ]);
  const without = buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', tools: [lookUp], memory: false }), circumstances);
  expect(without).not.toHaveProperty('memory');
  expect(without.digest).toBe(buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', tools: [lookUp] }), circumstances).digest);
});

test('a tool that is a schema alone is pinned as one, and other tools pin nothing', () => {
  const order = defineTool({ name: 'order', description: 'Orders.', parameters: z.object({}), execute: 'none' });
  const snapshot = buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', tools: [order, lookUp] }), circumstances);
  expect(snapshot.tools[0]).toHaveProperty('notExecutable', true);
  expect(snapshot.tools[1]).not.toHaveProperty('notExecutable');
});

describe('approvals are pinned as JSON', () => {
  test("the snapshot says whether a tool's calls always wait or a predicate decides, and has the schema of a question's answer", () => {
    const tools = [
      refund,
      lookUp,
      defineTool({ name: 'erase', description: 'd', parameters: z.object({}), execute: () => null, approval: 'always' }),
      askHuman({ name: 'ask', description: 'd', answer: z.enum(['yes', 'no']) }),
    ];
    const snapshot = buildSnapshot(defineAgent({ name: 'clerk', model: 'p/m', tools }), circumstances);
    expect(snapshot.tools.map(({ name, approval, answer }) => ({ name, approval, answer }))).toEqual([
      { name: 'refund', approval: { when: 'predicate', deadlineMs: 3_600_000 }, answer: undefined },
      { name: 'look_up', approval: undefined, answer: undefined },
      { name: 'erase', approval: { when: 'always' }, answer: undefined },
      { name: 'ask', approval: { when: 'always', onDeadline: 'reject' }, answer: { type: 'string', enum: ['yes', 'no'] } },
    ]);
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot);
  });

  test('an agent has one deadline for all its approvals', () => {
    const clerk = defineAgent({ name: 'clerk', model: 'p/m', approvals: { deadline: '1m' } });
    expect(buildSnapshot(clerk, circumstances)).toHaveProperty('approvals', { deadlineMs: 60_000 });
  });

  test('the snapshot of a worker with the hooks authorize and notify names them', () => {
    expect(buildSnapshot(agent, { ...circumstances, authorize: true, notify: true })).toMatchObject({ authorize: true, notify: true });
    expect(buildSnapshot(agent, { ...circumstances, authorize: false, notify: false })).toEqual(buildSnapshot(agent, circumstances));
  });
});

describe("limits of a start replace the agent's limits", () => {
  const clerk = defineAgent({
    name: 'clerk',
    model: 'p/m',
    tools: [refund, lookUp],
    limits: { toolCalls: 10, toolCallsByName: { refund: 1 }, deadline: '1h' },
    onLimit: 'ask',
  });

  test('each limit is replaced separately, including the limits of single tools', () => {
    const limits = { steps: 4, toolCalls: 3, totalTokens: 500, deadlineMs: 1_000, toolCallsByName: { look_up: 2 } };
    expect(buildSnapshot(clerk, { ...circumstances, limits }).limits).toEqual({
      steps: 4,
      finalAttempt: false,
      toolCalls: 3,
      totalTokens: 500,
      deadlineMs: 1_000,
      toolCallsByName: { refund: 1, look_up: 2 },
      onLimit: 'ask',
    });
  });

  test("a start without limits has the agent's limits", () => {
    expect(buildSnapshot(clerk, circumstances).limits).toEqual(clerk.limits);
    expect(buildSnapshot(agent, circumstances).limits).toEqual({ steps: 10, finalAttempt: false });
  });

  test('a limit for a tool that the agent lacks is refused', () => {
    const build = (): unknown => buildSnapshot(clerk, { ...circumstances, limits: { toolCallsByName: { refnd: 1 } } });
    expect(build).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: '"limits.toolCallsByName" names the tool "refnd", which agent "clerk" does not have (it has: "refund", "look_up")',
      }),
    );
  });
});

describe('prices', () => {
  const cheap = { input: 1, output: 2 };

  test('the snapshot has the prices of the model and of the summary model, if they are known', () => {
    const both = defineAgent({ name: 'a', model: 'openai/gpt-5', window: { summaryModel: 'openai/gpt-5-nano' } });
    expect(buildSnapshot(both, circumstances).prices).toEqual({
      'openai/gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
      'openai/gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4 },
    });
    const one = defineAgent({ name: 'a', model: 'p/m', window: { summaryModel: 'p/unknown' } });
    expect(buildSnapshot(one, { ...circumstances, prices: { 'p/m': cheap, 'p/other': cheap } }).prices).toEqual({ 'p/m': cheap });
  });

  test('the snapshot has no prices if none are known', () => {
    expect(buildSnapshot(agent, circumstances)).not.toHaveProperty('prices');
  });

  test.each([
    ['of the agent', defineAgent({ name: 'one', model: 'p/m', limits: { costUsd: 1 } }), {}, 'p/m'],
    ['of the start', agent, { limits: { costUsd: 1 } }, 'p/m'],
    [
      'with a model that summarizes at an unknown price',
      defineAgent({ name: 'one', model: 'openai/gpt-5', limits: { costUsd: 1 }, window: { summaryModel: 'p/small' } }),
      {},
      'p/small',
    ],
  ])('a limit in dollars %s that could not be enforced is refused', (_, spender, limits, model) => {
    expect(() => buildSnapshot(spender, { ...circumstances, ...limits })).toThrow(
      expect.objectContaining({
        code: 'invalid_agent',
        message:
          `The limit "costUsd" of agent "one" cannot be enforced: the price of model "${model}" is not known. ` +
          `Give it to the worker, in US dollars per million tokens: prices: {'${model}': {input: …, output: …}}`,
      }),
    );
  });

  test('a limit in dollars of its session needs the price of each model, including the model of titles', () => {
    const titled = defineAgent({ name: 'one', model: 'p/m', window: { summarize: false, summaryModel: 'p/small' } });
    const problem = (prices: PriceTable) => () => buildSnapshot(titled, { ...circumstances, priced: true, prices });
    const unknown = (model: string): unknown =>
      expect.objectContaining({
        code: 'invalid_agent',
        message: expect.stringContaining(
          `The limit "costUsd" of the session of agent "one" cannot be enforced: the price of model "${model}" is not known`,
        ),
      });
    expect(problem({})).toThrow(unknown('p/m'));
    expect(problem({ 'p/m': cheap })).toThrow(unknown('p/small'));
    expect(problem({ 'p/m': cheap, 'p/small': cheap })).not.toThrow();
  });

  test('a limit in dollars uses the prices of the worker, and needs no price for a model that is not called', () => {
    const spender = defineAgent({ name: 'a', model: 'p/m', limits: { costUsd: 1 }, window: { summarize: false, summaryModel: 'p/small' } });
    expect(buildSnapshot(spender, { ...circumstances, prices: { 'p/m': cheap } })).toMatchObject({
      limits: { costUsd: 1 },
      prices: { 'p/m': cheap },
    });
  });
});

test('the snapshot says if the namespace lacks the search attribute of pending calls', () => {
  const two = buildSnapshot(agent, { ...circumstances, searchAttributes: true, waitingForAttribute: false });
  expect(two).toHaveProperty('searchAttributes', true);
  expect(two).not.toHaveProperty('waitingForAttribute');
  expect(buildSnapshot(agent, { ...circumstances, searchAttributes: true, waitingForAttribute: true })).toMatchObject({
    searchAttributes: true,
    waitingForAttribute: true,
  });
});
