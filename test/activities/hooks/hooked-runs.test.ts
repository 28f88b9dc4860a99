import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildChatMessages } from '../../../activities/models/openai/chat-messages.ts';
import { type AnyHook, defineAgent, defineHook, defineTool, type HookPayloads, quickjs } from '../../../src/index.ts';
import {
  callTool,
  failWith,
  say,
  scriptedModel,
  testAgent,
  together,
  type ScriptEntry,
  type TestedRun,
} from '../../../src/testing/index.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
});

async function run(hooks: readonly AnyHook[], script: ScriptEntry[], ofWorker: readonly AnyHook[] = []): Promise<TestedRun> {
  const agent = defineAgent({ name: 'agent', model: 'scripted/m', tools: [refund], hooks });
  return testAgent(agent, { input: 'Go', model: scriptedModel(script), hooks: ofWorker });
}

const refunding = (): ScriptEntry[] => [callTool('refund', { amount: 7 }), say('Done.')];

describe('a request', () => {
  test('has the texts of its hooks for this step alone', async () => {
    const polite = defineHook({ name: 'polite', on: 'pre_request', run: ({ step }) => (step === 1 ? { inject: 'Be polite.' } : 'allow') });
    const { requests, steps } = await run([polite], refunding());
    expect(requests.map(({ instructions }) => instructions.includes('Be polite.'))).toEqual([true, false]);
    expect(steps.map(({ hooks }) => hooks)).toEqual([
      [{ hook: 'polite', on: 'pre_request', answer: 'inject', text: 'Be polite.' }],
      undefined,
    ]);
  });

  test('is not sent if a hook denies it, and the run ends with its reason', async () => {
    const closed = defineHook({ name: 'closed', on: 'pre_request', run: () => ({ deny: 'it is Sunday' }) });
    const { result, requests } = await run([closed], []);
    expect(result).toMatchObject({
      status: 'error',
      errorCode: 'hook_denied',
      error: 'Hook "closed" denied the model call of step 1: it is Sunday',
    });
    expect(requests).toEqual([]);
  });

  test('is shown to hooks with model, step, length and tools', async () => {
    const seen: HookPayloads['pre_request'][] = [];
    await run([defineHook({ name: 'see', on: 'pre_request', run: (payload) => void seen.push(payload) })], refunding());
    expect(seen).toEqual([
      { model: 'scripted/m', step: 1, messages: 1, tools: ['refund'] },
      { model: 'scripted/m', step: 2, messages: 3, tools: ['refund'] },
    ]);
  });
});

describe('a model call that was paid for', () => {
  const broken = (on: 'post_response' | 'pre_tool_use'): AnyHook =>
    defineHook({ name: `broken-${on}`, on, run: () => Promise.reject(new Error('broken')) });

  test('is neither repeated nor failed by hooks that throw', async () => {
    const { result, requests, steps } = await run([broken('post_response'), broken('pre_tool_use')], refunding());
    expect(result.status).toBe('completed');
    expect(requests).toHaveLength(2);
    expect(steps[0]?.hooks).toEqual([{ hook: 'broken-post_response', on: 'post_response', answer: 'failed', text: 'broken' }]);
    expect(steps[0]?.toolCalls[0]?.hooks).toMatchObject([{ hook: 'broken-pre_tool_use', answer: 'failed', text: 'broken' }]);
  });

  test('is not repeated by a hook that is late', async () => {
    const late = defineHook({
      name: 'late',
      on: 'pre_tool_use',
      timeout: 20,
      failClosed: true,
      run: () => new Promise<never>(() => undefined),
    });
    const { requests, steps } = await run([late], refunding());
    expect(requests).toHaveLength(2);
    expect(steps[0]?.toolCalls[0]).toMatchObject({
      isError: true,
      hooks: [{ answer: 'failed', denied: true, text: 'it gave no answer within 20 ms' }],
    });
  });

  test('does not contain the answers of hooks in a failed attempt', async () => {
    const polite = defineHook({ name: 'polite', on: 'pre_request', run: () => ({ inject: 'Be polite.' }) });
    const { steps } = await run([polite], [failWith('model_rate_limited'), say('Done.')]);
    expect(steps[0]?.hooks).toHaveLength(1);
  });

  test('gets no text that would be too large to be recorded', async () => {
    const long = defineHook({ name: 'long', on: 'post_response', run: () => ({ modify: { text: 'x'.repeat(70_000) } }) });
    const { result, steps } = await run([long], [say('Done.')]);
    expect(result.output).toBe('Done.');
    expect(steps[0]?.hooks).toMatchObject([{ answer: 'failed' }]);
  });
});

describe('a text about a call', () => {
  const texts = { pre_tool_use: 'Mind the gap.', post_tool_use: 'It is so.' } as const;
  const hooks = (tier: 'inline' | 'remote'): AnyHook[] =>
    (['pre_tool_use', 'post_tool_use'] as const).map((on) => defineHook({ name: on, on, tier, run: () => ({ inject: texts[on] }) }));

  test.each(['inline', 'remote'] as const)(
    'is a note on its result, which stays what the tool returned, if its hook is %s',
    async (tier) => {
      const { requests, events, steps } = await run(hooks(tier), refunding());
      const result = { type: 'tool_result', toolCallId: expect.any(String) as string, name: 'refund', status: 'success' };
      const noted = { ...result, content: ['refunded 7'], notes: [texts.post_tool_use, texts.pre_tool_use] };
      expect(events[2]?.content).toEqual([noted]);
      expect(requests[1]?.conversation.at(-1)?.content).toEqual([noted]);
      expect(steps[0]?.toolCalls[0]).toMatchObject({ result: 'refunded 7', hooks: [{ answer: 'inject' }, { answer: 'inject' }] });
    },
  );

  test('is sent to a provider after the result', async () => {
    const { requests } = await run(hooks('inline'), refunding());
    const sent = buildChatMessages([], requests[1]?.conversation.flatMap(({ content }) => content) ?? []);
    expect(sent.slice(-2)).toMatchObject([
      { role: 'tool', content: 'refunded 7' },
      {
        role: 'user',
        content: expect.stringMatching(/^About the call of "refund" \(.+\): It is so\.\nAbout .*: Mind the gap\.$/) as string,
      },
    ]);
  });

  test('that code made is a note on the code, which gets the result alone', async () => {
    const agent = defineAgent({
      name: 'agent',
      model: 'scripted/m',
      tools: [refund],
      hooks: hooks('inline'),
      code: { executor: quickjs() },
    });
    const script = [callTool('run_code', { code: 'print(typeof refund(7))' }), say('Done.')];
    const { events } = await testAgent(agent, { input: 'Go', model: scriptedModel(script) });
    const ofCell = events.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result' && item.name === 'run_code');
    expect(ofCell).toMatchObject([
      {
        content: ['string'],
        notes: [`its call of "refund": ${texts.post_tool_use}`, `its call of "refund": ${texts.pre_tool_use}`, texts.pre_tool_use],
      },
    ]);
  });
});

describe('the record', () => {
  test("has the arguments that a call ran with, and the model's arguments in the event", async () => {
    const cap = defineHook({ name: 'cap', on: 'pre_tool_use', run: () => ({ modify: { arguments: { amount: 5 } } }) });
    const { events, steps } = await run([cap], refunding());
    expect(steps[0]?.toolCalls[0]).toMatchObject({
      arguments: { amount: 5 },
      result: 'refunded 5',
      hooks: [{ hook: 'cap', answer: 'modify' }],
    });
    expect(events[1]?.content).toMatchObject([{ type: 'tool_call', arguments: { amount: 7 } }]);
  });

  test('has no hooks that plainly allowed', async () => {
    const { steps } = await run([defineHook({ name: 'sees', on: 'pre_tool_use', run: () => undefined })], refunding());
    expect(JSON.stringify(steps)).not.toContain('hooks');
  });

  test('has the hooks of each call of a response with that call', async () => {
    const odd = defineHook({
      name: 'odd',
      on: 'pre_tool_use',
      run: ({ arguments: args }) => (args['amount'] === 1 ? { deny: 'one' } : 'allow'),
    });
    const { steps } = await run([odd], [together(callTool('refund', { amount: 1 }), callTool('refund', { amount: 2 })), say('Done.')]);
    expect(steps[0]?.toolCalls.map(({ isError, hooks = [] }) => [isError, hooks.length])).toEqual([
      [true, 1],
      [false, 0],
    ]);
  });
});

test("hooks are called by priority, and with equal priority the worker's first", async () => {
  const order: string[] = [];
  const noting = (name: string, priority = 100): AnyHook =>
    defineHook({ name, on: 'pre_tool_use', priority, run: () => void order.push(name) });
  await run([noting('agent'), noting('agent-first', 1)], refunding(), [noting('worker'), noting('worker-last', 200)]);
  expect(order).toEqual(['agent-first', 'worker', 'agent', 'worker-last']);
});

test('hooks read the deps, the agent and the run, and see changes of hooks before them', async () => {
  const seen: unknown[] = [];
  const change = defineHook({ name: 'change', on: 'pre_tool_use', priority: 1, run: () => ({ modify: { arguments: { amount: 5 } } }) });
  const see = defineHook({
    name: 'see',
    on: 'pre_tool_use',
    run: async ({ arguments: args }, { agent, runId, deps, resources }) =>
      void seen.push(args, agent, runId, await deps(), Object.keys(await resources())),
  });
  const agent = defineAgent({
    name: 'agent',
    model: 'scripted/m',
    tools: [refund],
    deps: z.object({ tenant: z.string() }),
    hooks: [change, see],
  });
  await testAgent(agent, { input: 'Go', runId: 'r', deps: { tenant: 'a' }, model: scriptedModel(refunding()) });
  expect(seen).toEqual([{ amount: 5 }, 'agent', 'r', { tenant: 'a' }, ['ledger']]);
});

test('a worker and its agent cannot have hooks of one name', async () => {
  const hook = defineHook({ name: 'same', on: 'stop', run: () => undefined });
  await expect(run([hook], [], [hook])).rejects.toThrow('the worker and agent "agent" each have a hook named "same"');
});
