import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { LonghaulClient, SessionHandle } from '../../../../src/client/index.ts';
import { callTool, hang, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { type AgentScenario, lookUp, waiting } from '../../scenario.ts';

/** Starts with options, and messages to the run while it is open. */
export const messages: Record<string, AgentScenario> = {
  'started-with-options': {
    agent: 'assistant',
    start: { model: 'scripted/other', settings: { temperature: 0 }, tags: ['acme', 'nightly'] },
    script: [lookUp, say('done')],
    continueAt: 8,
  },
  'started-from-messages': {
    agent: 'assistant',
    start: {
      messages: [
        { type: 'message', role: 'user', content: 'Look it up.' },
        { type: 'message', role: 'assistant', content: 'I look.' },
        { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: { query: 'before' } },
        { type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['found before'] },
        { type: 'tool_call', toolCallId: 'c2', name: 'search', arguments: { query: 'never' } },
      ],
    },
    script: [callTool('search', { query: 'now' }, 'c3'), callTool('search', { query: 'again' }, 'c4'), say('done')],
    continueAt: 8,
  },
  'told-while-paused': {
    agent: 'assistant',
    script: [lookUp, say('done'), say('done')],
    meanwhile: async (run) => {
      await run.pause();
      for (const message of ['one', 'two']) await run.send(message, { id: message });
      await run.resume();
    },
  },
  'steered-while-it-waits': {
    agent: 'clerk',
    script: [together(pay(1), lookUp), say('as you like')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.send('rather not', { id: 'm1', mode: 'steer' });
    },
  },
  'interrupted-in-a-model-call': {
    agent: 'assistant',
    script: [lookUp, hang('half'), say('done')],
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 2, 'the second model call');
      await run.send('rather this', { id: 'm1', mode: 'interrupt' });
    },
  },
  'interrupted-as-its-call-is-lost': {
    agent: 'assistant',
    script: [lookUp, hang('half'), say('done')],
    worker: { worker: { interceptors: { activity: [losesAborted] } } },
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 2, 'the second model call');
      await run.send('rather this', { id: 'm1', mode: 'interrupt' });
    },
  },
};

/** Fails a model call that is given up, as the server does if its worker is lost at that moment. */
function losesAborted(): ReturnType<ActivityInterceptorsFactory> {
  return {
    inbound: {
      execute: async (input, next) => {
        const outcome: unknown = await next(input);
        const isAborted = typeof outcome === 'object' && outcome !== null && 'type' in outcome && outcome.type === 'aborted';
        if (isAborted) throw ApplicationFailure.nonRetryable('The worker is lost');
        return outcome;
      },
    },
  };
}

function pay(amount: number): ScriptedReply {
  return callTool('refund', { amount }, `pay-${amount}`);
}

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
