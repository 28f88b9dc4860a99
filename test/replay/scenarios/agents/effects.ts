import { callTool, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import type { AgentScenario } from '../../scenario.ts';
import { waiting } from '../waits.ts';

const bar = callTool('raise_bar', { above: 10 }, 'bar');

/** Calls whose effects matter: lost answers, and deps that change what needs a decision. */
export const effects: Record<string, AgentScenario> = {
  'answers-lost': {
    agent: 'teller',
    script: [
      together(callTool('pay', { amount: 5 }, 'p'), callTool('book', { seat: 7 }, 'b'), bar),
      callTool('picky'),
      callTool('picky'),
      say('done'),
    ],
  },
  'asked-what-became-of-a-call': {
    agent: 'asker',
    script: [together(bar, callTool('pay', { amount: 5 }, 'p')), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.respond('p', 'paid on Monday', { id: 'd1', by: 'ann' });
    },
  },
  'counted-in-order': {
    agent: 'counter',
    script: [
      together(spend(500), count('c1'), spend(5), count('c2'), quickly('c3'), quickly('c4'), carelessly('c5'), carelessly('c6')),
      together(carelessly('c7'), quickly('c8'), carelessly('c9')),
      say('done'),
    ],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('spend-500', { id: 'd1', by: 'ann' });
    },
  },
  'counted-in-order-over-executions': {
    agent: 'counter',
    script: [
      together(count('c1'), quickly('c2'), count('c3'), quickly('c4'), count('c5')),
      together(count('c6'), count('c7')),
      say('done'),
    ],
    continueAt: 12,
  },
  'asked-again-after-an-update': {
    agent: 'asker',
    script: [together(bar, spend(5), spend(50)), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('spend-50', { id: 'd1', by: 'ann' });
    },
  },
};

function count(id: string): ScriptedReply {
  return callTool('count', {}, id);
}

function quickly(id: string): ScriptedReply {
  return callTool('count_quickly', {}, id);
}

function carelessly(id: string): ScriptedReply {
  return callTool('count_carelessly', {}, id);
}

function spend(amount: number): ScriptedReply {
  return callTool('spend', { amount }, `spend-${amount}`);
}
