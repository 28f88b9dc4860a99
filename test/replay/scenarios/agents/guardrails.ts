import { callTool, say, together } from '../../../../src/testing/index.ts';
import type { AgentScenario } from '../../scenario.ts';

/** Runs whose messages, calls and answers guardrails check. */
export const guardrails: Record<string, AgentScenario> = {
  'checked-over-executions': {
    agent: 'checked',
    script: [
      together(callTool('search', { query: 'a' }, 'g1'), callTool('search', { query: 'forbidden' }, 'g2')),
      callTool('search', { query: 'b' }, 'g3'),
      say('done'),
    ],
    continueAt: 30,
  },
  'checked-answer-blocked': { agent: 'checked', script: [callTool('search', { query: 'c' }, 'g4'), say('a secret')] },
};
