import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { RunHandle } from '../../../../src/client/index.ts';
import { agentTool, defineAgent, defineHook, defineTool } from '../../../../src/index.ts';
import { callTool, hang, say, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';

const transfer = defineTool({
  name: 'transfer',
  description: 'Transfers money',
  parameters: z.object({ amount: z.number(), note: z.string() }),
  approval: ({ amount }) => amount > 100,
  execute: ({ amount }) => `transferred ${amount}`,
});

const clerk = defineAgent({ name: 'hooked_clerk', model: 'child/m', tools: [transfer] });

/** Has a hook for each event of its runs. */
export const hookedLead = defineAgent({
  name: 'hooked_lead',
  model: 'scripted/m',
  tools: [transfer, agentTool(clerk)],
  hooks: [
    defineHook({ name: 'begin', on: 'session_start', run: () => ({ inject: 'Be brief.' }) }),
    defineHook({ name: 'polite', on: 'pre_request', run: ({ step }) => ({ inject: `This is step ${step}.` }) }),
    defineHook({ name: 'fails', on: 'post_response', run: () => ({ error: 'broken' }) }),
    defineHook({
      name: 'double',
      on: 'pre_tool_use',
      match: 'transfer',
      run: ({ arguments: args }) => ({ modify: { arguments: { ...args, amount: 2 * Number(args['amount']) } } }),
    }),
    defineHook({
      name: 'no-zero',
      on: 'pre_tool_use',
      match: 'transfer',
      run: ({ arguments: args }) => (args['amount'] === 0 ? { deny: 'zero' } : 'allow'),
    }),
    defineHook({ name: 'hint', on: 'subagent_start', run: () => ({ inject: 'Read it twice.' }) }),
    defineHook({ name: 'note', on: 'post_tool_use', run: ({ result }) => ({ modify: { result: ['noted', result] } }) }),
    defineHook({ name: 'told', on: 'subagent_stop', run: ({ agent, status }) => ({ inject: `${agent} ended with ${status}.` }) }),
    defineHook({ name: 'end', on: 'stop', run: ({ status }) => ({ error: status }) }),
  ],
});

/** Has hooks with separate activities. */
export const remotelyHooked = defineAgent({
  name: 'remotely_hooked',
  model: 'scripted/m',
  tools: [transfer, agentTool(clerk)],
  hooks: [
    defineHook({
      name: 'slow',
      on: 'pre_tool_use',
      tier: 'remote',
      timeout: '1m',
      run: ({ arguments: args }) => (args['amount'] === 0 ? { deny: 'zero' } : { inject: 'Slowly.' }),
    }),
    defineHook({
      name: 'triple',
      on: 'pre_tool_use',
      match: 'transfer',
      tier: 'remote',
      run: ({ arguments: args }) => ({ modify: { arguments: { ...args, amount: 3 * Number(args['amount']) } } }),
    }),
    defineHook({ name: 'note', on: 'post_tool_use', tier: 'remote', run: ({ result }) => ({ modify: { result: ['noted', result] } }) }),
  ],
});

/** Has hooks for messages and for answers. */
export const askedAtPoints = defineAgent({
  name: 'asked_at_points',
  model: 'scripted/m',
  tools: [transfer],
  hooks: [
    defineHook({
      name: 'no-cards',
      on: 'input',
      run: async ({ text }) => {
        if (!text.includes('4111')) return 'allow';
        // The model call that reads the message has begun by then.
        await setTimeout(300);
        return { deny: 'no cards' };
      },
    }),
    defineHook({ name: 'lawyer', on: 'output', tier: 'remote', timeout: '1m', run: () => 'allow' }),
    defineHook({ name: 'style', on: 'output', run: ({ text }) => (text === 'yo' ? { deny: 'not like this' } : 'allow') }),
  ],
});

const note = 'n'.repeat(2_000);
const clerkCalled = callTool('hooked_clerk', { request: 'Pay' }, 'a1');
const script = [
  together(callTool('transfer', { amount: 60, note }, 'c1'), callTool('transfer', { amount: 0, note }, 'c2'), clerkCalled),
  callTool('transfer', { amount: 1, note }, 'c3'),
  say('done'),
];
const childScript = [callTool('transfer', { amount: 3, note: '' }, 'd1'), say('p'.repeat(2_000))];

async function approveOne(run: RunHandle): Promise<void> {
  await until(async () => (await run.approvals()).pending.length === 1, 'the rewritten call to wait', 30);
  const [waiting] = (await run.approvals()).pending;
  if (waiting !== undefined) await run.approve(waiting);
}

/** Runs whose hooks rewrite, deny, add and fail. */
export const hooked: Record<string, AgentScenario> = {
  'hooked-in-every-way': { agent: 'hooked_lead', script, childScript, meanwhile: approveOne },
  'hooked-over-executions': { agent: 'hooked_lead', script, childScript, continueAt: 12, meanwhile: approveOne },
  'card-given-away': { agent: 'asked_at_points', start: { input: 'My card is 4111' }, script: [hang('Thanks')] },
  'session-asked-at-points': {
    agent: 'asked_at_points',
    start: { session: {} },
    continueAt: 30,
    script: [callTool('transfer', { amount: 1, note: '' }, 'p1'), say('One'), hang('Thanks'), say('yo'), say('Four')],
    meanwhile: async ({ runId }, _, client) => {
      const session = client.session('asked_at_points', { id: runId, taskQueue: runId });
      for (const message of ['First', 'My card is 4111', 'Third', 'Fourth'])
        await session.ask(message, { id: message }).catch(() => undefined);
      await session.close();
    },
  },
  'hooked-remotely': { agent: 'remotely_hooked', script, childScript, meanwhile: approveOne },
  'hooked-remotely-over-executions': { agent: 'remotely_hooked', script, childScript, continueAt: 12, meanwhile: approveOne },
};
