import { callTool, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';
import { lookUp } from './look-ups.ts';
import { waiting } from '../waits.ts';

const mixed = [note('a', 'l1'), lookUp, callTool('note_down', { text: '' }, 'l2'), callTool('fetch', {}, 'l3')] as const;

/** Local tools. */
export const localTools: Record<string, AgentScenario> = {
  'local-tools': {
    agent: 'locals',
    script: [note('a', 'l0'), together(say('noting'), ...mixed, note('b', 'l4')), note('c', 'l5'), say('done')],
  },
  'local-tools-in-sequence': { agent: 'locals_in_sequence', script: [together(...mixed, note('b', 'l4')), note('c', 'l5'), say('done')] },
  'local-tools-continued': {
    agent: 'locals_in_sequence',
    script: [together(note('a', 'l1'), lookUp, note('b', 'l2')), note('c', 'l3'), say('done')],
    continueAt: 8,
  },
  'local-tools-decided': {
    agent: 'locals',
    script: [together(strike(1), strike(2), note('a', 'l1'), lookUp), strike(3), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 2);
      await run.send('as you like', { id: 'm1' });
      await run.approve('strike-2', { id: 'd1', by: 'ann', arguments: { line: 20 } });
      await run.reject('strike-1', { id: 'd2', by: 'ann' });
      await waiting(run, 1);
      await run.approve('strike-3', { id: 'd3', by: 'ann' });
    },
  },
  'local-tools-beyond-their-room': {
    agent: 'locals_in_sequence',
    script: [together(recall(1), recall(2), recall(3), recall(4), recall(5), recall(6)), note('a', 'l1'), say('done')],
  },
  'local-tools-over-tasks': {
    agent: 'locals',
    script: [together(wait(2_000, 'w1'), wait(2_600, 'w2'), note('a', 'l1'), lookUp), say('done'), say('done')],
    workflowTaskTimeout: 1_000,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 1, 'the first model call');
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      await run.send('go on', { id: 'm1' });
    },
  },
  'local-tools-cancelled': {
    agent: 'locals',
    script: [together(wait(8_000, 'w1'), note('a', 'l1'), wait(8_000, 'w2'))],
    workflowTaskTimeout: 1_000,
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 1, 'the first model call');
      await new Promise((resolve) => setTimeout(resolve, 300));
      await run.cancel('recorded');
    },
  },
};

function note(text: string, id: string): ScriptedReply {
  return callTool('note_down', { text }, id);
}

function recall(page: number): ScriptedReply {
  return callTool('recall', { page }, `r${page}`);
}

function strike(line: number): ScriptedReply {
  return callTool('strike', { line }, `strike-${line}`);
}

function wait(ms: number, id: string): ScriptedReply {
  return callTool('wait', { ms }, id);
}
