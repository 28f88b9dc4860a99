import { z } from 'zod';
import { callRules, contentFilter, defineGuardrail, defineTool, maxTokens, personalData } from '../../../../src/index.ts';
import { callTool, say, together } from '../../../../src/testing/index.ts';
import { agentWith, scenario } from '../scenario.ts';

const send = defineTool({
  name: 'send',
  description: 'Sends a letter',
  parameters: z.object({ to: z.string() }),
  execute: ({ to }) => `sent to ${to}`,
});

const noSecrets = contentFilter({ type: 'output', keywords: ['secret'] });
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
    'a call that is blocked is an error result, beside one that runs',
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
];
