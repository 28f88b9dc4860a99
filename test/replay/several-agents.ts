import { z } from 'zod';
import { defineAgent, defineFlow } from '../../src/index.ts';
import { search } from '../server/testbed/agents.ts';
import { refund } from '../server/approvals/decision-agents.ts';

const billing = defineAgent({
  name: 'billing',
  model: 'scripted/m',
  description: 'Answers questions about invoices.',
  instructions: 'You are billing.',
  tools: [search],
  handoffs: ['triage'],
});
const form = defineAgent({ name: 'form', model: 'scripted/m', output: z.object({ answer: z.number() }) });
const account = defineAgent({ name: 'account', model: 'scripted/m', deps: z.object({ account: z.string() }) });
const triage = defineAgent({
  name: 'triage',
  model: 'scripted/m',
  instructions: 'You are triage.',
  tools: [search, refund],
  handoffs: [billing, form, account],
});

const pipeline = defineFlow({ name: 'pipeline', kind: 'sequential', agents: [triage, billing, form] });
const rounds = defineFlow({ name: 'rounds', kind: 'loop', agents: [billing, form], until: z.object({ answer: z.literal(4) }) });

/** Agents that hand over to each other, and flows of them. */
export const severalAgents = [triage, billing, form, account, pipeline, rounds];
