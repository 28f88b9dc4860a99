import { z } from 'zod';
import { type AnyAgent, type AnyHook, defineHook, defineTool, type PermissionOptions, quickjs } from '../../../src/index.ts';
import { approve, callTool, reject, say, together } from '../../../src/testing/index.ts';
import { agentWith, scenario } from './scenario.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: ({ amount }) => amount > 100,
  execute: ({ amount }) => `refunded ${amount}`,
});

const read = defineTool({
  name: 'read',
  description: 'Reads',
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => `the text of ${path}`,
});

function agent(
  hooks: readonly AnyHook[],
  options: { permissions?: PermissionOptions; code?: { executor: ReturnType<typeof quickjs> } } = {},
): AnyAgent {
  return agentWith([refund, read], { hooks, ...options });
}

/** Refunds of at most 50. */
const cap = defineHook({
  name: 'cap',
  on: 'pre_tool_use',
  match: 'refund',
  run: ({ arguments: args }) => (Number(args['amount']) > 50 ? { modify: { arguments: { amount: 50 } } } : 'allow'),
});

const raise = defineHook({ name: 'raise', on: 'pre_tool_use', match: 'refund', run: () => ({ modify: { arguments: { amount: 500 } } }) });

/** Calls that hooks deny, change, ask about and comment on, and model calls that they change. */
export const HOOKS = [
  scenario(
    'a call that a hook denies gives an error, next to a call that runs',
    agent([
      defineHook({
        name: 'no-keys',
        on: 'pre_tool_use',
        run: ({ arguments: args }) => (args['path'] === '/keys' ? { deny: 'those are keys' } : 'allow'),
      }),
    ]),
    {
      script: [together(callTool('read', { path: '/keys' }), callTool('read', { path: '/a' })), say('Done.')],
      timeline: [
        /calls read/,
        /calls read/,
        "read failed: The call of 'read' was denied by a hook: those are keys",
        'read: the text of /a',
        'agent: Done.',
      ],
    },
  ),
  scenario('a hook rewrites the arguments of a call, which stay in the record as the model gave them', agent([cap]), {
    script: [callTool('refund', { amount: 70 }), say('Done.')],
    timeline: ['agent calls refund {"amount":70}', 'refund: refunded 50', 'agent: Done.'],
  }),
  scenario('a rewritten call waits if the predicate of its tool asks about the new arguments', agent([raise]), {
    script: [callTool('refund', { amount: 7 }), say('Done.')],
    decide: ({ arguments: args }) => (args['amount'] === 500 ? approve({ by: 'ann' }) : reject('wrong arguments', { by: 'ann' })),
    timeline: ['agent calls refund {"amount":7}', 'ann approves refund', 'refund: refunded 500', 'agent: Done.'],
  }),
  scenario('a rewritten call needs no decision if the new arguments need none', agent([cap]), {
    script: [callTool('refund', { amount: 700 }), say('Done.')],
    timeline: ['agent calls refund {"amount":700}', 'refund: refunded 50', 'agent: Done.'],
  }),
  scenario(
    'permissions deny a call by its rewritten arguments',
    agent([raise], { permissions: { deny: [{ tool: 'refund', args: { amount: '500' } }] } }),
    {
      script: [callTool('refund', { amount: 7 }), say('Done.')],
      timeline: ['agent calls refund {"amount":7}', /^refund failed: The permissions of this run/, 'agent: Done.'],
    },
  ),
  scenario(
    'rewritten arguments that do not fit the tool give an error',
    agent([defineHook({ name: 'odd', on: 'pre_tool_use', run: () => ({ modify: { arguments: { amount: 'much' } } }) })]),
    {
      script: [callTool('refund', { amount: 7 }), say('Done.')],
      timeline: [/calls refund/, /^refund failed: A hook rewrote the arguments. Invalid arguments for 'refund'/, 'agent: Done.'],
    },
  ),
  scenario(
    'a hook asks about a call, and the approver edits it',
    agent([defineHook({ name: 'ask', on: 'pre_tool_use', match: /^ref/, run: () => ({ ask: 'Is this right?' }) })]),
    {
      script: [callTool('refund', { amount: 7 }), say('Done.')],
      decide: ({ reason }) =>
        reason === 'Is this right?' ? approve({ arguments: { amount: 8 }, by: 'ann' }) : reject('no reason', { by: 'ann' }),
      timeline: [
        /calls refund/,
        'ann approves refund',
        'refund: refunded 8',
        'note on refund: the approver changed its arguments before it ran: {"amount":8}',
        'agent: Done.',
      ],
    },
  ),
  scenario(
    'hooks add a text to a result, and replace another',
    agent([
      defineHook({ name: 'hint', on: 'pre_tool_use', match: 'read', run: () => ({ inject: 'Paths begin with "/".' }) }),
      defineHook({
        name: 'mask',
        on: 'post_tool_use',
        match: 'refund',
        run: ({ result }) => ({ modify: { result: JSON.stringify(result).replace('7', 'x') } }),
      }),
    ]),
    {
      script: [together(callTool('read', { path: '/a' }), callTool('refund', { amount: 7 })), say('Done.')],
      timeline: [
        /calls read/,
        /calls refund/,
        'read: the text of /a',
        'note on read: Paths begin with "/".',
        'refund: "refunded x"',
        'agent: Done.',
      ],
    },
  ),
  scenario(
    'hooks that throw, answer nonsense or change what they may not are recorded, and change nothing',
    agent([
      defineHook({ name: 'throws', on: 'pre_request', run: () => Promise.reject(new Error('broken')) }),
      defineHook({ name: 'nonsense', on: 'post_response', run: () => 42 as never }),
      defineHook({ name: 'wrong', on: 'pre_tool_use', run: () => ({ modify: { toolName: 'read' } }) }),
      defineHook({ name: 'absent', on: 'post_tool_use', command: ['/no/such/program'] }),
    ]),
    { script: [callTool('refund', { amount: 7 }), say('Done.')], timeline: [/calls refund/, 'refund: refunded 7', 'agent: Done.'] },
  ),
  scenario(
    'a hook that fails closed denies the call',
    agent([defineHook({ name: 'throws', on: 'pre_tool_use', failClosed: true, run: () => Promise.reject(new Error('broken')) })]),
    {
      script: [callTool('refund', { amount: 7 }), say('Done.')],
      timeline: [/calls refund/, /^refund failed: .*hook errored \(fail_closed\): broken/, 'agent: Done.'],
    },
  ),
  scenario(
    'a hook adds to the instructions of a request, and another replaces the text of an answer',
    agent([
      defineHook({ name: 'polite', on: 'pre_request', run: ({ step }) => ({ inject: `Be polite in step ${step}.` }) }),
      defineHook({ name: 'mask', on: 'post_response', run: ({ text }) => ({ modify: { text: text.replace('4711', '****') } }) }),
    ]),
    {
      script: [say('Your number is 4711.')],
      timeline: ['agent: Your number is ****.'],
    },
  ),
  scenario(
    'a hook that denies a model call ends the run before anything is sent',
    agent([defineHook({ name: 'closed', on: 'pre_request', run: () => ({ deny: 'it is Sunday' }) })]),
    {
      script: [],
      status: 'error',
      timeline: [],
    },
  ),
  scenario(
    'hooks hold for the calls of code',
    agent([cap, defineHook({ name: 'no-keys', on: 'pre_tool_use', match: 'read', run: () => ({ deny: 'no files' }) })], {
      code: { executor: quickjs() },
    }),
    {
      script: [
        callTool('run_code', {
          code: "print(await refund({amount: 70})); try { await read({path: '/a'}) } catch (error) { print(String(error)) }",
        }),
        say('Done.'),
      ],
      timeline: [
        /run_code/,
        /calls refund/,
        'refund: refunded 50',
        /calls read/,
        /^read failed: .*no files/,
        /^run_code: .*refunded 50.*no files/s,
        'agent: Done.',
      ],
    },
  ),
  scenario("the hooks of the worker hold for its agents, before the agent's own", agent([cap]), {
    hooks: [defineHook({ name: 'raise', on: 'pre_tool_use', match: 'refund', run: () => ({ modify: { arguments: { amount: 60 } } }) })],
    script: [callTool('refund', { amount: 7 }), say('Done.')],
    timeline: ['agent calls refund {"amount":7}', 'refund: refunded 50', 'agent: Done.'],
  }),
  scenario(
    'hooks with their own activity see and change calls and results after the others',
    agent([
      cap,
      defineHook({
        name: 'slow',
        on: 'pre_tool_use',
        tier: 'remote',
        timeout: '1m',
        run: ({ toolName, arguments: args }) => {
          if (args['path'] === '/keys') return { deny: 'those are keys' };
          return toolName === 'read' ? { inject: 'Read it.' } : { modify: { arguments: { amount: 10 * Number(args['amount']) } } };
        },
      }),
      defineHook({
        name: 'note',
        on: 'post_tool_use',
        tier: 'remote',
        run: ({ result, arguments: args }) => ({ modify: { result: [result, args] } }),
      }),
    ]),
    {
      script: [
        together(callTool('refund', { amount: 70 }), callTool('read', { path: '/a' }), callTool('read', { path: '/keys' })),
        callTool('refund', { amount: 8 }),
        say('Done.'),
      ],
      decide: ({ arguments: args }) => (args['amount'] === 500 ? approve({ by: 'ann' }) : reject('wrong arguments', { by: 'ann' })),
      timeline: [
        'agent calls refund {"amount":70}',
        /calls read/,
        /calls read/,
        'read: ["the text of /a",{"path":"/a"}]',
        'note on read: Read it.',
        "read failed: The call of 'read' was denied by a hook: those are keys",
        'ann approves refund',
        /^refund: \["refunded 500",/,
        'agent calls refund {"amount":8}',
        /^refund: \["refunded 80",/,
        'agent: Done.',
      ],
    },
  ),
  scenario(
    'hooks with their own activity hold for the calls of code, and ask about them',
    agent([defineHook({ name: 'ask', on: 'pre_tool_use', match: 'refund', tier: 'remote', run: () => ({ ask: 'Right?' }) })], {
      code: { executor: quickjs() },
    }),
    {
      script: [callTool('run_code', { code: 'print(await refund({amount: 7}))' }), say('Done.')],
      decide: ({ reason }) => (reason === 'Right?' ? approve({ by: 'ann' }) : reject('no reason', { by: 'ann' })),
      timeline: [/run_code/, /calls refund/, 'ann approves refund', 'refund: refunded 7', /^run_code: .*refunded 7/s, 'agent: Done.'],
    },
  ),
];
