import { memoryNamespace } from '../../../../src/memory/memory-store.ts';
import { callTool, say, together } from '../../../../src/testing/index.ts';
import { fakeMemory } from '../../../fakes/fake-memory.ts';
import type { AgentScenario } from '../../scenario.ts';

const principal = { tenant: 'acme', user: 'ada' };
const entry = { namespace: memoryNamespace({ principal, agent: 'mindful' }), key: 'Q', value: 'The letter after P' };
const long = 'x'.repeat(2_500);

/** Runs of an agent that has a memory. */
export const memory: Record<string, AgentScenario> = {
  'memory-recalled': {
    agent: 'mindful',
    start: { principal },
    worker: { memory: fakeMemory([entry]) },
    script: [
      together(callTool('remember', { key: 'R', value: 'The letter after Q' }, 'm1'), callTool('search', { query: 'a' }, 'm2')),
      callTool('recall', { query: 'letter' }, 'm3'),
      callTool('forget', { key: 'Q' }, 'm4'),
      say('done'),
    ],
  },
  'memory-dropped-over-executions': {
    agent: 'mindful',
    start: { principal },
    worker: { memory: fakeMemory([entry]) },
    script: [
      callTool('remember', { key: 'R', value: long }, 'm5'),
      callTool('remember', { key: 'S', value: long }, 'm6'),
      callTool('remember', { key: 'T', value: long }, 'm7'),
      say('the summary'),
      say('done'),
    ],
    continueAt: 20,
  },
  'memory-not-available': {
    agent: 'mindful',
    worker: { memory: { ...fakeMemory(), recall: () => Promise.reject(new Error('no connection')) } },
    script: [callTool('search', { query: 'a' }, 'm8'), say('done')],
  },
};
