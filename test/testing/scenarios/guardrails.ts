import { z } from 'zod';
import {
  agentTool,
  callRules,
  contentFilter,
  defineAgent,
  defineGuardrail,
  defineTool,
  maxTokens,
  personalData,
  quickjs,
} from '../../../src/index.ts';
import { callTool, say, structured, together } from '../../../src/testing/index.ts';
import { agentWith, CELL, scenario } from './scenario.ts';

const send = defineTool({
  name: 'send',
  description: 'Sends a letter',
  parameters: z.object({ to: z.string() }),
  execute: ({ to }) => `sent to ${to}`,
});

const noSecrets = contentFilter({ type: 'output', keywords: ['secret'] });
const judge = defineGuardrail({
  name: 'judge',
  type: 'output',
  models: ['scripted/judge'],
  check: async ({ ask, text }) => {
    const { ok } = await ask('scripted/judge', `Is this good? ${text}`, z.object({ ok: z.boolean() }));
    return ok ? { passed: true } : { passed: false, message: 'The judge says no' };
  },
});
const teller = defineAgent({ name: 'teller', model: 'scripted/m', guardrails: [noSecrets] });
const broken = { check: () => Promise.reject(new Error('the checker is down')) };

/** Guardrails of messages, answers and calls. */
export const GUARDRAILS = [
  scenario(
    'messages that pass are answered, and a check that finds nothing leaves no event',
    agentWith([send], { guardrails: [personalData({ type: 'input' })] }),
    {
      script: [callTool('send', { to: 'Ann' }), say('Done.')],
      timeline: [/calls send/, 'send: sent to Ann', 'agent: Done.'],
    },
  ),
  scenario('an answer that is blocked is not the output, and ends the run', agentWith([send], { guardrails: [noSecrets] }), {
    script: [say('The secret is 7.')],
    timeline: ['agent: The secret is 7.'],
    status: 'error',
  }),
  scenario('an answer that passes is the output', agentWith([send], { guardrails: [noSecrets] }), {
    script: [say('Nothing to tell.')],
    timeline: ['agent: Nothing to tell.'],
  }),
  scenario(
    'a guardrail that fails trips',
    agentWith([send], { guardrails: [defineGuardrail({ name: 'down', type: 'output', ...broken })] }),
    {
      script: [say('Done.')],
      timeline: ['agent: Done.'],
      status: 'error',
    },
  ),
  scenario(
    'a guardrail that fails and may lets the answer pass',
    agentWith([send], { guardrails: [defineGuardrail({ name: 'down', type: 'output', failOpen: true, ...broken })] }),
    { script: [say('Done.')], timeline: ['agent: Done.'] },
  ),
  scenario(
    'a blocked call is an error result, next to a call that runs',
    agentWith([send], { guardrails: [callRules({ arguments: { to: /bob/i } })] }),
    {
      script: [together(callTool('send', { to: 'Ann' }), callTool('send', { to: 'Bob' })), say('Done.')],
      timeline: [
        /calls send/,
        /calls send/,
        'send: sent to Ann',
        'send failed: Tool blocked: The argument "to" of "send" is blocked',
        'agent: Done.',
      ],
    },
  ),
  scenario('a guardrail that warns lets a long answer pass', agentWith([send], { guardrails: [maxTokens({ type: 'output', limit: 1 })] }), {
    script: [say('A long answer.')],
    timeline: ['agent: A long answer.'],
  }),
  scenario('a guardrail asks a model, whose answer decides', agentWith([send], { guardrails: [judge] }), {
    script: [say('Rain.'), structured({ ok: false })],
    timeline: ['agent: Rain.'],
    status: 'error',
  }),
  scenario(
    'a call that code makes is blocked',
    agentWith([send], { guardrails: [callRules({ block: ['send'] })], code: { executor: quickjs() } }),
    {
      script: [callTool('run_code', { code: 'try { send({ to: "Ann" }) } catch (error) { print(error.message) }' }), say('It is blocked.')],
      timeline: [CELL, /^agent calls send/, /^send failed: Tool blocked/, /^run_code: [^]*Tool blocked/, 'agent: It is blocked.'],
    },
  ),
  scenario('an agent whose answer is blocked is an error result for the agent above', agentWith([agentTool(teller)]), {
    script: [callTool('teller', { request: 'Tell' }), say('The secret is 7.'), say('They may not say.')],
    timeline: [
      'agent calls teller {"request":"Tell"}',
      /^teller failed: Agent 'teller' ended with error \(guardrail\)/,
      'agent: They may not say.',
    ],
  }),
];
