import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  agentTool,
  type AnyAgent,
  type AnyHook,
  defineAgent,
  defineHook,
  defineTool,
  type HookContext,
  type HookPayloads,
} from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptEntry, testAgent, type TestedRun } from '../../../src/testing/index.ts';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { hooksOfRun } from '../../../activities/hooks/run-hooks.ts';

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});
const payer = defineAgent({ name: 'payer', model: 'scripted/m', tools: [pay] });

function run(agent: AnyAgent, script: ScriptEntry[], hooks: readonly AnyHook[] = []): Promise<TestedRun> {
  return testAgent(agent, { input: 'Go', model: scriptedModel(script), hooks }) as Promise<TestedRun>;
}

function calling(hooks: readonly AnyHook[]): AnyAgent {
  return defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(payer)], hooks });
}

const paying = (): ScriptEntry[] => [callTool('payer', { request: 'Pay' }), callTool('pay', { amount: 7 }), say('Paid 7.'), say('Done.')];

describe('the hooks of a run hold below it', () => {
  test('with the name of the agent that acts, and not for the start and the end of descendants', async () => {
    const seen: string[] = [];
    const noting = (on: 'session_start' | 'pre_request' | 'post_response' | 'pre_tool_use' | 'post_tool_use' | 'session_end'): AnyHook =>
      defineHook({ name: on, on, run: (_: unknown, { agent }: HookContext) => void seen.push(`${agent} ${on}`) });
    await run(
      calling([
        noting('session_start'),
        noting('pre_request'),
        noting('post_response'),
        noting('pre_tool_use'),
        noting('post_tool_use'),
        noting('session_end'),
      ]),
      paying(),
    );
    expect(seen).toEqual([
      'lead session_start',
      'lead pre_request',
      'lead post_response',
      'lead pre_tool_use',
      'payer pre_request',
      'payer post_response',
      'payer pre_tool_use',
      'payer post_tool_use',
      'payer pre_request',
      'payer post_response',
      'lead post_tool_use',
      'lead pre_request',
      'lead post_response',
      'lead session_end',
    ]);
  });

  test("except hooks for messages and answers, unless they are the worker's", async () => {
    const seen: string[] = [];
    const noting = (name: string, on: 'input' | 'output'): AnyHook =>
      defineHook({ name, on, run: ({ text }: { text: string }, { agent }: HookContext) => void seen.push(`${name}: ${agent} ${text}`) });
    const ofWorker = [noting('worker-input', 'input'), noting('worker-output', 'output')];
    await run(calling([noting('lead-input', 'input'), noting('lead-output', 'output')]), paying(), ofWorker);
    expect(seen).toEqual([
      'worker-input: lead Go',
      'lead-input: lead Go',
      'worker-input: payer Pay',
      'worker-output: payer Paid 7.',
      'worker-output: lead Done.',
      'lead-output: lead Done.',
    ]);
  });

  test('a child whose answer a hook denies ends with an error, which the parent reads', async () => {
    const never = defineHook({ name: 'never', on: 'output', run: ({ text }) => (text === 'Paid 7.' ? { deny: 'no numbers' } : 'allow') });
    const { result, steps } = await run(calling([]), paying(), [never]);
    expect(result.output).toBe('Done.');
    expect(steps[0]?.toolCalls).toMatchObject([{ isError: true, result: expect.stringContaining('no numbers') }]);
  });

  test('also once a descendant is handed over to another agent', async () => {
    const guard = defineHook({ name: 'guard', on: 'pre_tool_use', match: 'pay', run: () => ({ deny: 'not today' }) });
    const first = defineAgent({ name: 'first', model: 'scripted/m', handoffs: [payer] });
    const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(first)], hooks: [guard] });
    const script = [
      callTool('first', { request: 'Pay' }),
      callTool('transfer_to_agent', { agent: 'payer' }),
      callTool('pay', { amount: 7 }),
      say('It was denied.'),
      say('Done.'),
    ];
    const { requests } = await testAgent(lead, { input: 'Go', model: scriptedModel(script), agents: [payer] });
    expect(JSON.stringify(requests[3]?.conversation.at(-1))).toContain('denied by a hook: not today');
  });

  test('once, if the worker has them for all agents', async () => {
    let calls = 0;
    const count = defineHook({ name: 'count', on: 'post_tool_use', match: 'pay', run: () => void (calls += 1) });
    await run(calling([]), paying(), [count]);
    expect(calls).toBe(1);
  });

  test('by name: a worker that lacks one refuses the descendant', () => {
    const registry = new AgentRegistry([payer], { scripted: scriptedModel([]) });
    expect(() => hooksOfRun(registry, payer, [{ name: 'guard', on: 'pre_tool_use', of: 'lead' }])).toThrow(
      'No agent "lead" in this worker, of which the run needs hook "guard" for "pre_tool_use"',
    );
  });
});

describe('after an agent', () => {
  test('hooks get its run, and a result of any size', async () => {
    const seen: HookPayloads['subagent_stop'][] = [];
    const see = defineHook({ name: 'see', on: 'subagent_stop', run: (payload) => void seen.push(payload) });
    const answer = 'y'.repeat(5_000);
    const { steps } = await run(calling([see]), [callTool('payer', { request: 'Pay' }, 'c1'), say(answer), say('Done.')]);
    expect(seen).toEqual([
      { agent: 'payer', callId: 'c1', runId: steps[0]?.toolCalls[0]?.childRunId, status: 'success', result: answer, isError: false },
    ]);
  });

  test('their answers are in the record of the call, and the model reads the result that they return', async () => {
    const mask = defineHook({
      name: 'mask',
      on: 'post_tool_use',
      match: 'payer',
      run: () => ({ modify: { result: 'Paid.', isError: true } }),
    });
    const { steps, requests } = await run(calling([mask]), paying());
    expect(steps[0]?.toolCalls[0]).toMatchObject({
      result: 'Paid.',
      isError: true,
      hooks: [{ hook: 'mask', on: 'post_tool_use', answer: 'modify' }],
    });
    expect(requests.at(-1)?.conversation.at(-1)?.content).toMatchObject([{ content: ['Paid.'], status: 'error' }]);
  });

  test('they do not change the result of a final agent', async () => {
    const mask = defineHook({ name: 'mask', on: 'subagent_stop', run: () => ({ modify: { result: 'nothing' } }) });
    const lead = defineAgent({ name: 'lead', model: 'scripted/m', tools: [agentTool(payer, { final: true })], hooks: [mask] });
    const { result, steps } = await run(lead, [callTool('payer', { request: 'Pay' }), say('Paid 7.')]);
    expect(result.output).toBe('Paid 7.');
    expect(steps[0]?.toolCalls[0]).toMatchObject({ result: 'Paid 7.', hooks: [{ hook: 'mask', answer: 'modify' }] });
  });
});

describe('at the start and at the end', () => {
  test('a hook replaces the instructions, and failed hooks are recorded with the result', async () => {
    const terse = defineHook({
      name: 'terse',
      on: 'session_start',
      run: ({ instructions }) => ({ modify: { instructions: [...instructions, 'Be terse.'] } }),
    });
    const fails = defineHook({ name: 'fails', on: 'session_end', run: () => Promise.reject(new Error('broken')) });
    const agent = defineAgent({ name: 'a', model: 'scripted/m', instructions: 'You help.', hooks: [terse, fails] });
    const { result, requests } = await run(agent, [say('Done.')]);
    expect(requests[0]?.instructions).toEqual(['You help.', 'Be terse.']);
    expect(result.status).toBe('completed');
    expect(result.hooks).toEqual([
      { hook: 'terse', on: 'session_start', answer: 'modify' },
      { hook: 'fails', on: 'session_end', answer: 'failed', text: 'broken' },
    ]);
  });

  test('hooks get the status and the whole output, also if the run has failed', async () => {
    const seen: HookPayloads['stop'][] = [];
    const see = defineHook({ name: 'see', on: 'stop', run: (payload) => void seen.push(payload) });
    const agent = defineAgent({ name: 'a', model: 'scripted/m', hooks: [see] });
    const output = 'z'.repeat(60_000);
    await run(agent, [say(output)]);
    const closed = defineHook({ name: 'closed', on: 'pre_request', run: () => 'deny' });
    await run({ ...agent, hooks: [see, closed] }, []);
    expect(seen).toEqual([
      { status: 'completed', stopReason: 'final_answer', output },
      { status: 'error', stopReason: 'error', output: '' },
    ]);
  });

  test('an agent that takes over continues the run: its hooks for the start are not called', async () => {
    const seen: string[] = [];
    const begin = (name: string): AnyHook => defineHook({ name, on: 'session_start', run: () => void seen.push(name) });
    const second = defineAgent({ name: 'second', model: 'scripted/m', hooks: [begin('of-second')] });
    const first = defineAgent({ name: 'first', model: 'scripted/m', handoffs: [second], hooks: [begin('of-first')] });
    await run(first, [callTool('transfer_to_agent', { agent: 'second' }), say('Done.')]);
    expect(seen).toEqual(['of-first']);
  });
});
