import { agentTool } from '../../../../src/index.ts';
import { callTool, say, together } from '../../../../src/testing/index.ts';
import { agentWith, scenario } from '../scenario.ts';
import { ask, asks, helper, middle } from './sub-agents.ts';

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
