import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { callTool, hang, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';
import { lookUp } from './look-ups.ts';
import { waiting } from '../waits.ts';

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
