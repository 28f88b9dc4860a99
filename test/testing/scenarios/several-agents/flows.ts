import { z } from 'zod';
import { defineAgent, defineFlow } from '../../../../src/index.ts';
import { approve, callTool, killWorker, say, sendMessage } from '../../../../src/testing/index.ts';
import { ran, scenario } from '../scenario.ts';
import { billing, clerk, triage } from './agents.ts';
import { look } from './handoffs.ts';

const writer = defineAgent({ name: 'writer', model: 'scripted/m', instructions: 'You write.' });
const critic = defineAgent({
  name: 'critic',
  model: 'other/m',
  instructions: 'You criticize.',
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
