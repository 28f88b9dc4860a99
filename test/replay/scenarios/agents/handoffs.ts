import { callTool, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import type { AgentScenario } from '../../scenario.ts';
import { waiting } from '../waits.ts';

let calls = 0;

function to(agent: string): ScriptedReply {
  return callTool('transfer_to_agent', { agent }, `t${(calls += 1)}`);
}

function find(query: string): ScriptedReply {
  return callTool('search', { query }, `f${(calls += 1)}`);
}

/** Runs that several agents act in. */
export const handoffs: Record<string, AgentScenario> = {
  'handed-over-and-back': {
    agent: 'triage',
    script: [together(find('a'), to('billing')), find('b'), to('triage'), find('c'), to('billing'), say('done')],
  },
  'handed-over-with-errors': {
    agent: 'triage',
    script: [to('account'), to('sales'), together(to('form'), to('billing')), say('{"answer":"no"}'), say('{"answer":4}')],
  },
  'handed-over-across-executions': {
    agent: 'triage',
    script: [together(find('a'), to('billing')), find('b'), to('triage'), find('c'), to('form'), say('{"answer":4}')],
    continueAt: 24,
  },
  'flow-in-sequence': {
    agent: 'pipeline',
    script: [find('a'), to('account'), say('looked up'), find('b'), say('billed'), say('{"answer":1}')],
  },
  'flow-in-rounds-over-executions': {
    agent: 'rounds',
    script: [find('a'), say('one'), say('{"answer":1}'), find('b'), say('two'), say('{"answer":4}')],
    continueAt: 24,
  },
  'handed-over-after-a-decision': {
    agent: 'triage',
    script: [together(callTool('refund', { amount: 1 }, 'r1'), to('billing')), find('b'), say('done')],
    meanwhile: async (run) => {
      const { pending } = await waiting(run, 1);
      await run.approve(pending[0]?.callId ?? '', { id: 'd1', by: 'ann' });
    },
  },
};
