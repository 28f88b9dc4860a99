import { callTool, say, together } from '../../../../src/testing/index.ts';
import type { AgentScenario } from '../../scenario.ts';

/** Runs whose model loads skills. */
export const skills: Record<string, AgentScenario> = {
  'skills-that-narrow': {
    agent: 'skilled',
    script: [callTool('load_skill', { skill: 'refunds' }, 's6'), callTool('search', { query: 'b' }, 's7'), say('done')],
  },
  'skills-over-executions': {
    agent: 'skilled',
    script: [
      together(callTool('load_skill', { skill: 'refunds' }, 's1'), callTool('search', { query: 'a' }, 's2')),
      callTool('read_skill_file', { skill: 'refunds', path: 'limits.md' }, 's3'),
      together(callTool('search', { query: 'b' }, 's4'), callTool('load_skill', { skill: 'none' }, 's5')),
      say('done'),
    ],
    continueAt: 24,
  },
};
