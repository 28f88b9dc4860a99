import { hang, say, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';
import { approveAll, approveText, edit, waitingBelow } from './sub-agents.ts';

/** Runs that keep the agent of a tool between its calls. */
export const keptAgents: Record<string, AgentScenario> = {
  'kept-agent': {
    agent: 'keeper',
    script: [together(edit('1', 'e1'), edit('x'.repeat(2_000), 'e2')), edit('3', 'e3'), say('done')],
    childScript: [say('first'), say('second'), say('third')],
  },
  'kept-agent-continued': {
    agent: 'keeper',
    continueAt: 20,
    script: [edit('1', 'e1'), edit('2', 'e2'), edit('3', 'e3'), say('done')],
    childScript: [say('first'), say('second'), say('third')],
  },
  'kept-agent-over-executions': {
    agent: 'keeper',
    script: [edit('1', 'e1'), edit('2', 'e2'), say('done')],
    childScript: [say('first'), approveText, say('second')],
    worker: { continueAsNew: { updates: 3 } },
    meanwhile: async (run, _, client) => {
      await waitingBelow(run, 1);
      for (const id of ['m1', 'm2', 'm3', 'm4', 'm5', 'm6']) await run.send(id, { id });
      await until(async () => (await run.status()).executions > 1, 'the next execution', 30);
      await approveAll(run, client);
    },
  },
  'kept-agent-cancelled': {
    agent: 'keeper',
    script: [edit('1', 'e1'), edit('2', 'e2')],
    childScript: [say('first'), approveText],
    meanwhile: async (run) => {
      await waitingBelow(run, 1);
      await run.cancel('enough');
    },
  },
  'kept-agent-interrupted': {
    agent: 'keeper',
    script: [edit('1', 'e1'), edit('2', 'e2'), say('done')],
    childScript: [hang('half'), say('second')],
    meanwhile: async (run, _, client) => {
      await until(async () => (await run.status()).children?.length === 1, 'the agent to start', 30);
      const [child = ''] = (await run.status()).children ?? [];
      await until(async () => ((await client.handle(child).status()).running ?? []).length > 0, 'the answer of the agent', 30);
      await run.send('stop', { id: 'm1', mode: 'interrupt' });
    },
  },
};
