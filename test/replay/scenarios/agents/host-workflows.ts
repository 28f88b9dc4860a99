import { say } from '../../../../src/testing/index.ts';
import type { AgentScenario } from '../../scenario.ts';

/** Agents in workflows of the tests. */
export const hostWorkflows: Record<string, AgentScenario> = {
  'two-agents-in-a-workflow': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'report' },
  'refused-inline-and-run': { agent: 'researcher', script: [say('facts')], workflowType: 'inlineAgain' },
  'two-agents-inline': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'inlineReport' },
};
