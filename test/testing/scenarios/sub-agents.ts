import { z } from 'zod';
import { agentTool, defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import { approve, callTool, cancelRun, failWith, say, structured, together } from '../../../src/testing/index.ts';
import { agentWith, ledgerIn, ran, scenario } from './scenario.ts';

const helper = defineAgent({ name: 'helper', model: 'scripted/m' });
const exact = defineAgent({ name: 'exact', model: 'scripted/m', output: z.object({ answer: z.number() }) });
const brief = defineAgent({ name: 'brief', model: 'scripted/m', limits: { steps: 1 }, tools: [agentTool(helper, { name: 'unused' })] });
const tellDeps = defineTool({
  name: 'tell_deps',
  description: 'Tells the deps',
  parameters: z.object({}),
  execute: (_, { deps }) => JSON.stringify(deps),
});
const tellPrincipal = defineTool({
  name: 'tell_principal',
  description: 'Tells for whom the run acts',
  parameters: z.object({}),
  execute: (_, { principal }) => JSON.stringify(principal),
});
const tellLocally = defineTool({
  name: 'tell_locally',
  description: 'Tells the user',
  parameters: z.object({}),
  tier: 'local',
  execute: (_, { userId }) => userId ?? 'nobody',
});
const teller = defineAgent({ name: 'teller', model: 'scripted/m', tools: [tellPrincipal] });
const customer = defineAgent({ name: 'customer', model: 'scripted/m', deps: z.object({ user: z.string() }), tools: [tellDeps] });
const signed = defineTool({ name: 'sign', description: 'Signs', parameters: z.object({}), approval: 'always', execute: () => 'signed' });
const signer = defineAgent({ name: 'signer', model: 'scripted/m', tools: [signed] });
const middle = defineAgent({ name: 'middle', model: 'scripted/m', tools: [agentTool(helper)] });
const shop = defineAgent({
  name: 'agent',
  model: 'scripted/m',
  deps: z.object({ user: z.string(), cart: z.array(z.string()) }),
  tools: [agentTool(customer, { share: ['user'] })],
});

const ask = callTool('helper', { request: 'Who?' });
const asks = 'agent calls helper {"request":"Who?"}';

/** Agents that run as tools, and their ends. */
export const SUB_AGENTS = [
  scenario('the model reads the answer of an agent that it has called', agentWith([agentTool(helper)]), {
    script: [ask, say('Ada.'), say('It was Ada.')],
    timeline: [asks, 'helper: Ada.', 'agent: It was Ada.'],
  }),
  scenario('two agents of one response run at the same time', agentWith([agentTool(helper)]), {
    script: [together(ask, ask), say('Ada.'), say('Ada.'), say('Both say Ada.')],
    timeline: [asks, asks, 'helper: Ada.', 'helper: Ada.', 'agent: Both say Ada.'],
  }),
  scenario('a structured answer of an agent is read as JSON', agentWith([agentTool(exact)]), {
    script: [callTool('exact', { request: 'Count' }), structured({ answer: 4 }), say('Four.')],
    timeline: ['agent calls exact {"request":"Count"}', 'exact: {"answer":4}', 'agent: Four.'],
  }),
  scenario('an agent that fails is an error result', agentWith([agentTool(helper)]), {
    script: [ask, failWith('model_bad_request', 'no such model'), say('Too bad.')],
    timeline: [asks, /^helper failed: Agent 'helper' ended with error\nError: .*no such model/s, 'agent: Too bad.'],
  }),
  scenario('the partial answer of an agent at its limit is read in an error result', agentWith([agentTool(brief)]), {
    script: [callTool('brief', { request: 'Try' }), together(say('Half of it'), callTool('unknown')), say('Good enough.')],
    timeline: [
      'agent calls brief {"request":"Try"}',
      "brief failed: Agent 'brief' ended with max_iterations_reached (step_limit)\nPartial answer: Half of it",
      'agent: Good enough.',
    ],
  }),
  scenario('the answer of a final agent is the answer of the run', agentWith([agentTool(helper, { final: true })]), {
    script: [ask, say('Ada.')],
    timeline: [asks, 'helper: Ada.'],
  }),
  scenario('a final agent at its limit ends the run in the same way', agentWith([agentTool(brief, { final: true })]), {
    script: [callTool('brief', { request: 'Try' }), together(say('Half of it'), callTool('unknown'))],
    timeline: ['agent calls brief {"request":"Try"}', /^brief failed: .*step_limit/s],
    status: 'max_iterations_reached',
  }),
  scenario('an agent gets the deps that its tool shares, and no others', shop, {
    deps: { user: 'ann', cart: ['tea'] },
    script: [callTool('customer', { request: 'Who?' }), callTool('tell_deps'), say('Only a user.'), say('Right.')],
    timeline: ['agent calls customer {"request":"Who?"}', 'customer: Only a user.', 'agent: Right.'],
  }),
  scenario("an agent acts on behalf of its parent's principal", agentWith([agentTool(teller)]), {
    principal: { tenant: 'acme', user: 'ann', claims: { role: 'clerk' } },
    script: [callTool('teller', { request: 'Who?' }), callTool('tell_principal'), say('For Ann.'), say('Right.')],
    timeline: ['agent calls teller {"request":"Who?"}', 'teller: For Ann.', 'agent: Right.'],
  }),
  scenario('tools of a run know its principal, local ones too', agentWith([tellPrincipal, tellLocally]), {
    principal: { user: 'ann' },
    script: [callTool('tell_principal'), callTool('tell_locally'), say('For Ann.')],
    timeline: [...ran('tell_principal {}', '{"user":"ann"}'), ...ran('tell_locally {}', 'ann'), 'agent: For Ann.'],
  }),
  scenario(
    'an agent gets arguments with its own schema as JSON',
    agentWith([agentTool(helper, { parameters: z.object({ year: z.number() }) })]),
    {
      script: [callTool('helper', { year: 1843 }), say('Ada.'), say('Thanks.')],
      timeline: ['agent calls helper {"year":1843}', 'helper: Ada.', 'agent: Thanks.'],
    },
  ),
  scenario('a long request reaches the agent by reference', agentWith([agentTool(helper)]), {
    script: [callTool('helper', { request: 'w'.repeat(4_000) }), say('Long.'), say('Yes.')],
    timeline: [/^agent calls helper/, 'helper: Long.', 'agent: Yes.'],
  }),
  scenario(
    'a call of an agent waits for its approval, and runs with the edited arguments',
    agentWith([agentTool(helper, { approval: 'always' })]),
    {
      script: [ask, say('Grace.'), say('It was Grace.')],
      decide: () => approve({ arguments: { request: 'And now?' }, by: 'ann' }),
      timeline: [
        asks,
        'ann approves helper',
        'helper: Grace.',
        'note on helper: the approver changed its arguments before it ran: {"request":"And now?"}',
        'agent: It was Grace.',
      ],
    },
  ),
  scenario('an agent waits for its own decision', agentWith([agentTool(signer)]), {
    script: [callTool('signer', { request: 'Sign' }), callTool('sign'), say('It is signed.'), say('Fine.')],
    decide: () => approve({ by: 'ann' }),
    timeline: ['agent calls signer {"request":"Sign"}', 'signer: It is signed.', 'agent: Fine.'],
  }),
  scenario('an agent waits for its own decision, next to a call that has ended', agentWith([agentTool(signer), tellPrincipal]), {
    script: [
      together(callTool('signer', { request: 'Sign' }), callTool('tell_principal')),
      callTool('sign'),
      say('It is signed.'),
      say('Fine.'),
    ],
    principal: { user: 'ada' },
    decide: ({ about }) => (about?.agentName === 'signer' && about.question === 'Sign' ? approve({ by: 'ann' }) : undefined),
    timeline: [
      'agent calls signer {"request":"Sign"}',
      'agent calls tell_principal {}',
      'signer: It is signed.',
      'tell_principal: {"user":"ada"}',
      'agent: Fine.',
    ],
  }),
  scenario('an agent that waits is cancelled with its parent, and says so', agentWith([agentTool(signer)]), {
    script: [callTool('signer', { request: 'Sign' }), callTool('sign')],
    meanwhile: [cancelRun('not needed any more', { step: 1, waiting: 'sign' })],
    notifyEnded: ({ agentName, result: { cancelReason = '' } }, { resources }) => {
      ledgerIn(resources).act(agentName, `${agentName}: ${cancelReason.replace(/"[^"]*"/, 'the parent')}`);
    },
    timeline: ['agent calls signer {"request":"Sign"}', /^signer failed: Tool call was running when the run was cancelled/],
    status: 'cancelled',
  }),
  scenario('a long error of an agent is cut, in its result and in its parent', agentWith([agentTool(helper, { final: true })]), {
    script: [ask, failWith('model_bad_request', 'x'.repeat(20_000))],
    timeline: [asks, /^helper failed: Agent 'helper' ended with error\nError: x{3900,3980} \[Cut: \d+ of \d+ bytes are missing\]$/],
    status: 'error',
  }),
  scenario('an agent runs another one', agentWith([agentTool(middle)]), {
    script: [callTool('middle', { request: 'Ask' }), ask, say('Ada.'), say('They say Ada.'), say('It was Ada.')],
    timeline: ['agent calls middle {"request":"Ask"}', 'middle: They say Ada.', 'agent: It was Ada.'],
  }),
  scenario('code calls an agent', agentWith([agentTool(helper)], { code: { executor: quickjs() } }), {
    script: [callTool('run_code', { code: 'print(helper({ request: "Who?" }) + " again");' }), say('Ada.'), say('Ada again.')],
    timeline: [/^agent calls run_code/, asks, 'helper: Ada.', /^run_code: [^]*Ada. again/, 'agent: Ada again.'],
  }),
];

const COSTLY = { usage: { promptTokens: 90, completionTokens: 10, totalTokens: 100 } };

/** Limits of the tree of runs, and of the parent. */
export const SUB_AGENT_LIMITS = [
  scenario('an agent below the allowed depth does not start', agentWith([agentTool(middle)], { children: { depth: 1 } }), {
    script: [callTool('middle', { request: 'Ask' }), ask, say('Nothing below.'), say('Well.')],
    timeline: ['agent calls middle {"request":"Ask"}', 'middle: Nothing below.', 'agent: Well.'],
  }),
  scenario('a run may start no agent with a depth of 0', agentWith([agentTool(helper)], { children: { depth: 0 } }), {
    script: [ask, say('Well.')],
    timeline: [asks, /^helper failed: Agent 'helper' could not start: the limit depth: this run has 0 ancestors/, 'agent: Well.'],
  }),
  scenario('no agent starts once the tree has all its runs', agentWith([agentTool(helper)], { children: { perTree: 2 } }), {
    script: [ask, say('Ada.'), ask, say('Well.')],
    timeline: [asks, 'helper: Ada.', asks, /^helper failed: .*the limit perTree: no further run/, 'agent: Well.'],
  }),
  scenario('agents beyond those that may be alive wait their turn', agentWith([agentTool(helper)], { children: { alive: 1 } }), {
    script: [together(ask, ask, ask), say('one'), say('two'), say('three'), say('Three.')],
    timeline: [asks, asks, asks, 'helper: one', 'helper: two', 'helper: three', 'agent: Three.'],
  }),
  scenario('agents of an agent whose calls run in sequence run in sequence', agentWith([agentTool(helper)], { parallel: false }), {
    script: [together(ask, ask), say('one'), say('two'), say('Two.')],
    timeline: [asks, asks, 'helper: one', 'helper: two', 'agent: Two.'],
  }),
  scenario('an agent is one of the tool calls that may start', agentWith([agentTool(helper)], { limits: { toolCalls: 0 } }), {
    script: [ask],
    timeline: [asks, /^helper failed: Tool call was not executed/],
    status: 'limit_reached',
  }),
  scenario('the tokens of an agent count against the limit of the run', agentWith([agentTool(helper)], { limits: { totalTokens: 250 } }), {
    script: [
      { ...ask, ...COSTLY },
      { ...say('Ada.'), ...COSTLY },
      { ...ask, ...COSTLY },
    ],
    timeline: [asks, 'helper: Ada.', asks, /^helper failed: .*the limit totalTokens: nothing is left/],
    status: 'limit_reached',
  }),
  scenario('an agent gets no more tokens than its share', agentWith([agentTool(middle)], { limits: { totalTokens: 300 } }), {
    script: [
      { ...callTool('middle', { request: 'Ask' }), ...COSTLY },
      { ...together(say('Thinking'), callTool('unknown')), ...COSTLY },
      { ...say('Well.'), ...COSTLY },
    ],
    timeline: [
      'agent calls middle {"request":"Ask"}',
      /^middle failed: .*limit_reached \(token_budget\)\nPartial answer: Thinking/s,
      'agent: Well.',
    ],
  }),
];
