import { callTool, hang, say } from '../../../../src/testing/index.ts';
import type { LonghaulClient, SessionHandle } from '../../../../src/client/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { waiting } from '../waits.ts';
import type { AgentScenario } from '../../scenario.ts';

/** The session of a scenario, which the recording has started without a message. */
function sessionOf(client: LonghaulClient, agent: string, id: string): SessionHandle {
  return client.session(agent, { id, taskQueue: id });
}

const start = { session: { limits: { turns: 3 }, title: 'A talk' } };

/** Sessions: several turns in one run. */
export const sessions: Record<string, AgentScenario> = {
  'session-of-turns': {
    agent: 'assistant',
    start,
    script: [say('One'), callTool('search', { query: 'a' }), say('Two'), say('Three')],
    meanwhile: async ({ runId }, _, client) => {
      const session = sessionOf(client, 'assistant', runId);
      await session.ask('First', { id: 'm1' });
      await session.ask('Second', { id: 'm2' });
      await session.ask('Third', { id: 'm3' });
      await session.send('Fourth', { id: 'm4' }).catch(() => undefined);
      await session.raise({ turns: 4 }, { id: 'r1', by: 'ada' });
      await session.close({ by: 'ada' });
    },
  },
  'session-over-executions': {
    agent: 'assistant',
    start,
    continueAt: 25,
    script: [say('One'), callTool('search', { query: 'a' }), say('Two'), say('Three')],
    meanwhile: async ({ runId }, _, client) => {
      const session = sessionOf(client, 'assistant', runId);
      await session.ask('First', { id: 'm1' });
      await session.ask('Second', { id: 'm2' });
      await session.ask('Third', { id: 'm3' });
      await session.close();
    },
  },
  'session-interrupted': {
    agent: 'clerk',
    start: { ...start, input: 'Hello' },
    script: [hang('Half'), callTool('refund', { amount: 12 }), say('Done'), callTool('refund', { amount: 5 }), say('Kept')],
    meanwhile: async (run, model, client) => {
      const session = sessionOf(client, 'clerk', run.runId);
      await until(() => model.requests.length === 1, 'the first answer');
      await session.interrupt({ reason: 'Enough', by: 'ada' });
      await session.send('Refund A1', { id: 'm1' });
      const [pending] = (await waiting(run, 1)).pending;
      if (pending !== undefined) await run.approve(pending, { id: 'd1', by: 'ada' });
      await session.turn(2);
      await session.send('Refund A2', { id: 'm2' });
      await waiting(run, 1);
      await session.interrupt();
      await session.refresh();
      await session.ask('And now?', { id: 'm3' }).catch(() => undefined);
      await run.cancel('over');
    },
  },
  'session-titled': {
    agent: 'assistant',
    start: { session: { limits: { turns: 3 }, generateTitle: true } },
    continueAt: 60,
    script: [say('One'), hang('A tit'), say('Two'), say('A title'), callTool('search', { query: 'a' }), say('Three')],
    meanwhile: async ({ runId }, model, client) => {
      const session = sessionOf(client, 'assistant', runId);
      await session.ask('First', { id: 'm1' });
      await until(() => model.requests.length === 2, 'the call for the title');
      await session.ask('Second', { id: 'm2' });
      await until(async () => (await session.status()).session?.title === 'A title', 'the title');
      await session.ask('Third', { id: 'm3' });
      await session.close();
    },
  },
};
