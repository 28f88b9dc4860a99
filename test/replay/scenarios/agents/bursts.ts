import { ApplicationFailure, type Duration } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../../src/index.ts';
import { callTool, hang, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { refund } from '../../../server/approvals/decision-agents.ts';
import { broken, search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import { type AgentScenario, both, cancelled, lookUp, threeLookUps, waiting } from '../../scenario.ts';

/** Fails at first, and is retried only after a time that no burst waits for. */
const slowlyAgain = defineTool({
  name: 'slowly_again',
  description: 'Is refused at first',
  parameters: z.object({}),
  backoff: { initial: '6s', max: '6s' },
  execute: (_, { retry }) => {
    if (retry === 0) throw new Error('at first');
    return 'at last';
  },
});

/** An agent that makes its steps in bursts, by twos. */
export const bursting = defineAgent({
  name: 'bursting',
  model: 'scripted/m',
  instructions: 'Answer.',
  tools: [search, broken, refund, slowlyAgain],
  burst: { steps: 2, seconds: 60 },
});

const again = callTool('search', { query: 'b' }, 'c4');

/** A call whose arguments take a second to arrive. */
const slowLookUp: ScriptedReply = { ...callTool('search', { query: 'slow' }, 'c5'), everyMs: 300 };

/** A call that the first attempt at a burst does not live to see. */
const verySlowLookUp: ScriptedReply = { ...slowLookUp, everyMs: 1_500 };

/** Runs that make several steps in one activity. */
export const bursts: Record<string, AgentScenario> = {
  'in-bursts': { agent: 'bursting', script: [both, again, threeLookUps, say('done')] },
  'in-bursts-over-executions': {
    agent: 'bursting',
    script: [lookUp, again, threeLookUps, callTool('search', { query: 'd' }, 'c6'), say('done')],
    continueAt: 14,
  },
  'in-bursts-with-decisions': {
    agent: 'bursting',
    script: [lookUp, together(callTool('refund', { amount: 1 }, 'pay-1'), again), callTool('search', { query: 'd' }, 'c6'), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('pay-1', { id: 'd1' });
    },
  },
  'told-in-a-burst': {
    agent: 'bursting',
    script: [lookUp, slowLookUp, again, say('done')],
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 2, 'the second model call');
      await run.send('one more thing', { id: 'm1' });
    },
  },
  'paused-in-a-burst': {
    agent: 'bursting',
    script: [lookUp, slowLookUp, again, say('done')],
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 2, 'the second model call');
      await run.pause();
      await until(async () => (await run.status()).status === 'paused', 'the run is paused');
      await run.resume();
    },
  },
  'interrupted-in-a-burst': {
    agent: 'bursting',
    script: [lookUp, hang('half'), say('done')],
    meanwhile: async (run, model) => {
      await until(() => model.requests.length === 2, 'the second model call');
      await run.send('rather this', { id: 'm1', mode: 'interrupt' });
    },
  },
  'cancelled-in-a-burst': { agent: 'bursting', script: [lookUp, hang('half')], meanwhile: cancelled },
  'call-left-by-a-burst': { agent: 'bursting', script: [together(lookUp, callTool('slowly_again', {}, 'c2')), say('done')] },
  'told-between-attempts-at-a-burst': {
    agent: 'bursting',
    script: [lookUp, verySlowLookUp, say('done')],
    worker: { worker: { interceptors: { activity: [losesFirstAttempt('10m')] } } },
    meanwhile: async (run) => {
      await until(async () => (await run.status()).running?.[0]?.attempt === 2, 'the time between two attempts');
      await run.send('one more thing', { id: 'm1' });
    },
  },
  'burst-resumed-by-another-worker': {
    agent: 'bursting',
    script: [lookUp, verySlowLookUp, say('done')],
    worker: { worker: { interceptors: { activity: [losesFirstAttempt()] } } },
  },
};

/** The time that the burst of a scenario takes to reach its second model call. */
const FIRST_ATTEMPT_MS = 1_500;

/**
 * Loses the first attempt at the first burst in the middle of a call, as if its worker had ended: the server has what the attempt had
 * stored. `delay`: the time until the next attempt, if it is not the usual one.
 */
function losesFirstAttempt(delay?: Duration): ActivityInterceptorsFactory {
  return ({ info: { activityType, attempt } }) => ({
    inbound: {
      execute: async (input, next) => {
        const [{ through }] = input.args as [{ through: number }];
        if (activityType !== 'runBurst' || attempt > 1 || through > 1) return next(input);
        void next(input).catch(() => undefined);
        await sleep(FIRST_ATTEMPT_MS);
        throw ApplicationFailure.create({ message: 'The worker is lost', ...(delay === undefined ? {} : { nextRetryDelay: delay }) });
      },
    },
  });
}
