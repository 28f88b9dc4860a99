import { approve, callTool, killWorker, say, sendMessage, together } from '../../../../src/testing/index.ts';
import type { ScriptedReply } from '../../../../src/testing/index.ts';
import { ran, scenario } from '../scenario.ts';
import { hasty, triage } from './agents.ts';

function to(agent: string, more: object = {}): ScriptedReply {
  return callTool('transfer_to_agent', { agent, ...more });
}

function gone(agent: string): string {
  return `transfer_to_agent: The conversation was transferred to agent "${agent}", which continues it.`;
}

function goes(from: string, agent: string): string {
  return `${from} calls transfer_to_agent {"agent":"${agent}"}`;
}

export const look = callTool('look_up', { text: '42' });

/** Runs that one agent begins and another one continues. */
export const HANDOFFS = [
  scenario('the run continues with the agent that takes over', triage, {
    script: [to('billing', { reason: 'an invoice' }), look, say('It is open.')],
    timeline: [
      'triage calls transfer_to_agent {"agent":"billing","reason":"an invoice"}',
      gone('billing'),
      ...ran('look_up {"text":"42"}', '42 is open', 'billing'),
      'billing: It is open.',
    ],
  }),
  scenario('the other calls of a response run before a transfer, and only the first transfer counts', triage, {
    script: [together(to('billing'), look, to('clerk')), say('Done.')],
    timeline: [
      goes('triage', 'billing'),
      'triage calls look_up {"text":"42"}',
      goes('triage', 'clerk'),
      gone('billing'),
      'look_up: 42 is open',
      'transfer_to_agent failed: Not transferred: only the first transfer of a response counts.',
      'billing: Done.',
    ],
  }),
  scenario('a transfer waits for the decisions about the other calls of its response', triage, {
    script: [together(callTool('refund', { amount: 5 }), to('billing')), say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [
      'triage calls refund {"amount":5}',
      goes('triage', 'billing'),
      'ann approves refund',
      'refund: refunded 5',
      gone('billing'),
      'billing: Done.',
    ],
  }),
  scenario('two agents hand over to each other', triage, {
    script: [to('billing'), to('triage'), look, to('billing'), say('Done.')],
    timeline: [
      goes('triage', 'billing'),
      gone('billing'),
      goes('billing', 'triage'),
      gone('triage'),
      ...ran('look_up {"text":"42"}', '42 is open', 'triage'),
      goes('triage', 'billing'),
      gone('billing'),
      'billing: Done.',
    ],
  }),
  scenario('an agent that the deps do not fit does not take over', triage, {
    script: [to('account'), say('I go on myself.')],
    timeline: [
      goes('triage', 'account'),
      /^transfer_to_agent failed: Not transferred to agent "account": .*customer/s,
      'triage: I go on myself.',
    ],
  }),
  scenario('the agent that takes over has the deps of the run', triage, {
    deps: { customer: 'Ada' },
    script: [to('account'), say('Hello Ada.')],
    timeline: [goes('triage', 'account'), gone('account'), 'account: Hello Ada.'],
  }),
  scenario('a run that has used its handoffs continues with the same agent', hasty, {
    script: [to('triage'), to('billing'), say('Then I answer.')],
    timeline: [
      goes('hasty', 'triage'),
      gone('triage'),
      goes('triage', 'billing'),
      'transfer_to_agent failed: Not transferred: the run has used its 1 handoff. Go on yourself.',
      'triage: Then I answer.',
    ],
  }),
  scenario('a transfer to an unknown agent is an error', triage, {
    script: [to('sales'), say('Sorry.')],
    timeline: [goes('triage', 'sales'), /^transfer_to_agent failed: .*agent/, 'triage: Sorry.'],
  }),
  scenario('the output has the form of the agent that answers', triage, {
    script: [to('clerk'), say('{"paid":1}'), say('{"paid":true}')],
    timeline: [
      goes('triage', 'clerk'),
      gone('clerk'),
      'clerk: {"paid":1}',
      /^user: Your previous answer did not fit/,
      'clerk: {"paid":true}',
    ],
  }),
  scenario('an agent that answers in code takes over', triage, {
    script: [together(look, to('coder')), say('```javascript\nfinal_answer(price());\n```')],
    timeline: [
      'triage calls look_up {"text":"42"}',
      goes('triage', 'coder'),
      'look_up: 42 is open',
      gone('coder'),
      /^coder: ```javascript/,
      'coder calls run_code {}',
      'coder calls price {}',
      'price: 42',
      /^run_code: /,
    ],
  }),
  scenario('a message that steers gives up a transfer', triage, {
    script: [together(callTool('refund', { amount: 5 }), to('billing')), say('As you like.')],
    meanwhile: [sendMessage('Leave that', { step: 1, waiting: 'refund', mode: 'steer' })],
    timeline: [
      'triage calls refund {"amount":5}',
      goes('triage', 'billing'),
      /^refund failed: Tool call was interrupted/,
      /^transfer_to_agent failed: Tool call was interrupted/,
      'user: Leave that',
      'triage: As you like.',
    ],
  }),
  scenario('a worker dies after a handoff', triage, {
    script: [to('billing'), look, say('Done.')],
    faults: [killWorker({ afterStep: 1 })],
    timeline: [goes('triage', 'billing'), gone('billing'), 'billing calls look_up {"text":"42"}', 'look_up: 42 is open', 'billing: Done.'],
  }),
];
