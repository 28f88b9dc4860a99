import { z } from 'zod';
import { agentTool, defineAgent, defineFlow, defineTool } from '../../../../src/index.ts';
import { approve, callTool, failWith, reject, say, together } from '../../../../src/testing/index.ts';
import { agentWith, ran, scenario } from '../scenario.ts';

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
