import { z } from 'zod';
import { agentTool, defineAgent, defineFlow, defineTool, quickjs } from '../../../src/index.ts';
import {
  approve,
  callTool,
  failWith,
  killWorker,
  reject,
  say,
  type ScriptedReply,
  sendMessage,
  together,
} from '../../../src/testing/index.ts';
import { agentWith, ran, scenario } from './scenario.ts';

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks an order up',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => `${text} is open`,
});

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});

const price = defineTool({
  name: 'price',
  description: 'Returns a price',
  parameters: z.object({}),
  callers: ['code'],
  execute: () => 42,
});

/** Hands back to triage, by its name. */
const billing = defineAgent({
  name: 'billing',
  model: 'other/m',
  description: 'Answers questions about invoices.',
  instructions: 'You are billing.',
  tools: [lookUp],
  handoffs: ['triage'],
});

/** Answers with a form. */
const clerk = defineAgent({
  name: 'clerk',
  model: 'scripted/m',
  instructions: 'You are the clerk.',
  output: z.object({ paid: z.boolean() }),
});

/** Answers in code. */
const coder = defineAgent({
  name: 'coder',
  model: 'scripted/m',
  instructions: 'You are the coder.',
  tools: [price],
  code: { executor: quickjs() },
  replyFormat: 'code',
});

/** Needs deps that the runs of triage may lack. */
const account = defineAgent({
  name: 'account',
  model: 'scripted/m',
  instructions: ({ customer }) => `You serve ${customer}.`,
  deps: z.object({ customer: z.string() }),
});

/** Hands over to all others. */
export const triage = defineAgent({
  name: 'triage',
  model: 'scripted/m',
  instructions: 'You are triage.',
  tools: [lookUp, refund],
  handoffs: [billing, clerk, coder, account],
});

/** May hand over once. */
const hasty = defineAgent({
  name: 'hasty',
  model: 'scripted/m',
  instructions: 'You are hasty.',
  tools: [lookUp],
  handoffs: [triage],
  maxHandoffs: 1,
});

function to(agent: string, more: object = {}): ScriptedReply {
  return callTool('transfer_to_agent', { agent, ...more });
}

function gone(agent: string): string {
  return `transfer_to_agent: The conversation was transferred to agent "${agent}", which continues it.`;
}

function goes(from: string, agent: string): string {
  return `${from} calls transfer_to_agent {"agent":"${agent}"}`;
}

const look = callTool('look_up', { text: '42' });

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

const writer = defineAgent({ name: 'writer', model: 'scripted/m', instructions: 'You write.' });
const critic = defineAgent({
  name: 'critic',
  model: 'other/m',
  instructions: 'You criticise.',
  output: z.object({ verdict: z.enum(['good', 'bad']) }),
  limits: { steps: 2 },
});

const article = defineFlow({ name: 'article', kind: 'sequential', agents: [triage, writer, clerk] });
const draft = defineFlow({
  name: 'draft',
  kind: 'loop',
  agents: [writer, critic],
  maxIterations: 2,
  until: z.object({ verdict: z.literal('good') }),
});
const alone = defineFlow({ name: 'alone', kind: 'loop', agents: [writer], maxIterations: 3 });
const desk = defineFlow({ name: 'desk', kind: 'sequential', agents: [triage, billing] });

const looks = 'calls look_up {"text":"42"}';
const found = 'look_up: 42 is open';

/** Runs whose agents act in the order of a flow. */
export const FLOWS = [
  scenario('agents act in sequence over one conversation', article, {
    script: [look, say('42 is open'), say('A letter.'), say('{"paid":false}')],
    timeline: [`triage ${looks}`, found, 'triage: 42 is open', 'writer: A letter.', 'clerk: {"paid":false}'],
  }),
  scenario('a loop ends with the answer that fits', draft, {
    script: [say('One.'), say('{"verdict":"bad"}'), say('Two.'), say('{"verdict":"good"}')],
    timeline: ['writer: One.', 'critic: {"verdict":"bad"}', 'writer: Two.', 'critic: {"verdict":"good"}'],
  }),
  scenario('a loop ends after its last round', draft, {
    script: [say('One.'), say('{"verdict":"bad"}'), say('Two.'), say('{"verdict":"bad"}')],
    timeline: ['writer: One.', 'critic: {"verdict":"bad"}', 'writer: Two.', 'critic: {"verdict":"bad"}'],
  }),
  scenario('one agent acts several times', alone, {
    script: [say('One.'), say('Two.'), say('Three.')],
    timeline: ['writer: One.', 'writer: Two.', 'writer: Three.'],
  }),
  scenario('an agent of a flow waits for a decision, and hands over within its turn', desk, {
    script: [
      callTool('refund', { amount: 5 }),
      callTool('transfer_to_agent', { agent: 'clerk' }),
      say('{"paid":true}'),
      look,
      say('All is done.'),
    ],
    decide: () => approve({ by: 'ann' }),
    timeline: [
      'triage calls refund {"amount":5}',
      'ann approves refund',
      'refund: refunded 5',
      ...ran('transfer_to_agent {"agent":"clerk"}', 'The conversation was transferred to agent "clerk", which continues it.', 'triage'),
      'clerk: {"paid":true}',
      `billing ${looks}`,
      found,
      'billing: All is done.',
    ],
  }),
  scenario('a message is answered before the next turn', draft, {
    script: [say('One.'), say('One, in French.'), say('{"verdict":"good"}')],
    meanwhile: [sendMessage('In French', { step: 1 })],
    timeline: ['writer: One.', 'user: In French', 'writer: One, in French.', 'critic: {"verdict":"good"}'],
  }),
  scenario('the limit of a flow ends it among its turns', article, {
    limits: { steps: 2 },
    script: [look, say('42 is open')],
    timeline: [`triage ${looks}`, found, 'triage: 42 is open'],
    status: 'max_iterations_reached',
  }),
  scenario('a worker dies between two turns', article, {
    script: [say('It is open.'), say('A letter.'), say('{"paid":false}')],
    faults: [killWorker({ afterStep: 1 })],
    timeline: ['triage: It is open.', 'writer: A letter.', 'clerk: {"paid":false}'],
  }),
];

const tellUser = defineTool({
  name: 'tell_user',
  description: 'Tells the user',
  parameters: z.object({}),
  execute: (_, { deps }) => JSON.stringify(deps),
});
const sign = defineTool({ name: 'sign', description: 'Signs', parameters: z.object({}), approval: 'always', execute: () => 'signed' });

// Their requests are equal: the requests of parallel agents have no order.
const optimist = defineAgent({ name: 'optimist', model: 'scripted/m', deps: z.object({ user: z.string().default('Ada') }) });
const pessimist = defineAgent({ name: 'pessimist', model: 'scripted/m', limits: { totalTokens: 500 } });
const tired = defineAgent({ name: 'tired', model: 'other/m', tools: [tellUser], limits: { steps: 1 } });
const views = defineFlow({ name: 'views', kind: 'parallel', agents: [optimist, pessimist] });
const gloom = defineFlow({ name: 'gloom', kind: 'parallel', agents: [tired] });
const signer = defineAgent({ name: 'the signer', model: 'scripted/m', tools: [sign] });
const contract = defineFlow({ name: 'contract', kind: 'parallel', agents: [signer] });

const starts = ['views calls optimist {}', 'views calls pessimist {}'];
const tells = together(say('Hm.'), callTool('tell_user'));

/** Flows whose agents act at the same time. */
export const PARALLEL_FLOWS = [
  scenario('agents act in parallel on the same input', views, {
    script: [say('Fine.'), say('Fine.')],
    timeline: [...starts, 'optimist: Fine.', 'pessimist: Fine.'],
  }),
  scenario('a flow of parallel agents fails if one of them does', views, {
    script: [failWith('model_bad_request', 'no such model'), failWith('model_bad_request', 'no such model')],
    timeline: [
      ...starts,
      /^optimist failed: Agent 'optimist' ended with error\nError: .*no such model/s,
      /^pessimist failed: .*no such model/s,
    ],
    status: 'error',
  }),
  scenario('one of several parallel agents that reaches its limit fails the flow', gloom, {
    deps: { user: 'Ada' },
    script: [tells],
    timeline: ['gloom calls tired {}', /^tired failed: .*max_iterations_reached \(step_limit\)\nPartial answer: Hm\./],
    status: 'error',
  }),
  scenario('one of several parallel agents waits for a decision', contract, {
    script: [callTool('sign'), say('It is signed.')],
    decide: () => approve({ by: 'ann' }),
    timeline: ['contract calls the_signer {}', 'the_signer: It is signed.'],
  }),
  scenario('one of several parallel agents continues after a denial', contract, {
    script: [callTool('sign'), say('It is not signed.')],
    decide: () => reject('too early', { by: 'ann' }),
    timeline: ['contract calls the_signer {}', 'the_signer: It is not signed.'],
  }),
  scenario('parallel agents are the tool of another agent', agentWith([agentTool(views)]), {
    script: [callTool('views', { request: 'Will it rain?' }), say('Maybe.'), say('Maybe.'), say('Both say maybe.')],
    timeline: [...ran('views {"request":"Will it rain?"}', '[optimist]\nMaybe.\n\n[pessimist]\nMaybe.'), 'agent: Both say maybe.'],
  }),
];
