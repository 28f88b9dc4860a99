import { z } from 'zod';
import { agentTool, type AnyHook, defineAgent, defineHook, defineTool } from '../../../src/index.ts';
import { approve, callTool, say, structured, together } from '../../../src/testing/index.ts';
import { agentWith, scenario } from './scenario.ts';
import { triage } from './several-agents.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  execute: ({ amount }) => `refunded ${amount}`,
});

const helper = defineAgent({
  name: 'helper',
  model: 'scripted/m',
  tools: [refund],
  hooks: [
    defineHook({
      name: 'own',
      on: 'pre_tool_use',
      run: ({ arguments: args }) => (args['amount'] === 2 ? { deny: 'two is odd' } : 'allow'),
    }),
  ],
});
const middle = defineAgent({ name: 'middle', model: 'scripted/m', tools: [agentTool(helper)] });

function above(hooks: readonly AnyHook[]): ReturnType<typeof agentWith> {
  return agentWith([agentTool(helper), agentTool(middle)], { hooks });
}

const askHelper = callTool('helper', { request: 'Pay' });
const asks = 'agent calls helper {"request":"Pay"}';
const long = 'x'.repeat(3_000);

/** Agents with hooks that run as children, take over, begin and end. */
export const HOOKED_AGENTS = [
  scenario(
    'the hooks of an agent hold for the agent that it calls, whose own hooks deny too',
    above([
      defineHook({
        name: 'no-one',
        on: 'pre_tool_use',
        match: 'refund',
        run: ({ arguments: args }) => (args['amount'] === 1 ? { deny: 'one is too little' } : 'allow'),
      }),
      defineHook({
        name: 'note',
        on: 'pre_request',
        run: (_, { agent }) => ({ inject: `You are ${agent}.` }),
      }),
    ]),
    {
      script: [
        askHelper,
        together(...([1, 2, 3].map((amount) => callTool('refund', { amount })) as [ReturnType<typeof callTool>])),
        say('One paid.'),
        say('Done.'),
      ],
      timeline: [asks, 'helper: One paid.', 'agent: Done.'],
    },
  ),
  scenario(
    "a question of a grandparent's hook is decided in the descendant",
    above([defineHook({ name: 'ask', on: 'pre_tool_use', match: 'refund', run: () => ({ ask: 'Really?' }) })]),
    {
      script: [
        callTool('middle', { request: 'Pay' }),
        askHelper,
        callTool('refund', { amount: 3 }),
        say('Paid.'),
        say('Paid, they say.'),
        say('Done.'),
      ],
      decide: () => approve({ by: 'ann' }),
      timeline: ['agent calls middle {"request":"Pay"}', 'middle: Paid, they say.', 'agent: Done.'],
    },
  ),
  scenario(
    'a hook denies the start of an agent, and another rewrites the request of one',
    above([
      defineHook({ name: 'no-middle', on: 'subagent_start', match: 'middle', run: () => ({ deny: 'ask the helper' }) }),
      defineHook({
        name: 'rewrite',
        on: 'subagent_start',
        match: 'helper',
        run: () => ({ modify: { arguments: { request: 'Say hello' } } }),
      }),
    ]),
    {
      script: [callTool('middle', { request: 'Pay' }), askHelper, say('Hello.'), say('Done.')],
      timeline: [
        'agent calls middle {"request":"Pay"}',
        "middle failed: The call of 'middle' was denied by a hook: ask the helper",
        asks,
        'helper: Hello.',
        'agent: Done.',
      ],
    },
  ),
  scenario(
    'hooks replace the result of an agent, and add to it',
    above([
      defineHook({
        name: 'mask',
        on: 'post_tool_use',
        match: 'helper',
        run: ({ result }) => ({ modify: { result: typeof result === 'string' ? result.replaceAll('x', 'y').slice(0, 5) : result } }),
      }),
      defineHook({
        name: 'ended',
        on: 'subagent_stop',
        run: ({ agent, status, result }) => ({ inject: `${agent} ${status} ${JSON.stringify(result).length}` }),
      }),
      defineHook({ name: 'throws', on: 'subagent_stop', run: () => Promise.reject(new Error('broken')) }),
    ]),
    {
      script: [askHelper, say(long), callTool('helper', { request: long }), say('Hi'), say('Done.')],
      timeline: [
        asks,
        'helper: yyyyy',
        'note on helper: helper success 7',
        /^agent calls helper/,
        'helper: Hi',
        'note on helper: helper success 4',
        'agent: Done.',
      ],
    },
  ),
  scenario(
    'a hook denies a handoff, and the next one of the response counts',
    {
      ...triage,
      hooks: [defineHook({ name: 'no-billing', on: 'handoff', match: 'billing', run: ({ from }) => ({ deny: `not from ${from}` }) })],
    },
    {
      script: [
        together(callTool('transfer_to_agent', { agent: 'billing' }), callTool('transfer_to_agent', { agent: 'clerk' })),
        structured({ paid: true }),
      ],
      timeline: [
        'triage calls transfer_to_agent {"agent":"billing"}',
        'triage calls transfer_to_agent {"agent":"clerk"}',
        "transfer_to_agent failed: The call of 'transfer_to_agent' was denied by a hook: not from triage",
        /^transfer_to_agent: The conversation was transferred to agent "clerk"/,
        'clerk: {"paid":true}',
      ],
    },
  ),
  scenario(
    'hooks at the start and at the end of a run are recorded with its result',
    agentWith([], {
      hooks: [
        defineHook({
          name: 'begin',
          on: 'session_start',
          run: ({ instructions }) => ({ modify: { instructions: [...instructions, 'Be brief.'] } }),
        }),
        defineHook({ name: 'stop', on: 'stop', run: ({ status, output }) => ({ error: `${status} ${JSON.stringify(output)}` }) }),
        defineHook({ name: 'end', on: 'session_end', tier: 'remote', timeout: '30s', run: () => ({ deny: 'too late' }) }),
      ],
    }),
    { script: [say('Done.')], timeline: ['agent: Done.'] },
  ),
  scenario(
    'a hook adds to the instructions of a summary',
    agentWith([refund], {
      window: { maxBytes: 6_000 },
      hooks: [
        defineHook({ name: 'keep', on: 'pre_compact', run: ({ events }) => ({ inject: `Keep the numbers of ${events} events.` }) }),
        defineHook({ name: 'throws', on: 'pre_compact', run: () => Promise.reject(new Error('broken')) }),
      ],
    }),
    {
      script: [
        together(say(long), callTool('refund', { amount: 1 })),
        together(say(long), callTool('refund', { amount: 2 })),
        say('A summary.'),
        say('Done.'),
      ],
      timeline: [/x/, /calls/, /refunded 1/, /x/, /calls/, /refunded 2/, /A summary\. \(a summary\)/, 'agent: Done.'],
    },
  ),
];
