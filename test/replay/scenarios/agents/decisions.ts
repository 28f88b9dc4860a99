import { callTool, say, type ScriptedReply, together } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { deployed } from '../../scenario-agents.ts';
import { type AgentScenario, lookUp, threeLookUps, waiting } from '../../scenario.ts';

/** Calls and limits that wait for people. */
export const decisions: Record<string, AgentScenario> = {
  'taken-over-by-a-worker-with-the-tools': {
    agent: 'deployed',
    script: [together(callTool('refund', { amount: 1 }, 'c1'), callTool('search', { query: 'b' }, 'c2')), say('done')],
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the call waits');
      // This imitates another worker that takes the task.
      const tools = deployed.tools.splice(0);
      await run.approve('c1');
      await until(async () => (await run.status()).missing?.length === 1, 'the run waits for another worker');
      deployed.tools.push(...tools);
    },
  },
  'decided-in-every-way': {
    agent: 'clerk',
    script: [together(pay(1), pay(2), pay(3), callTool('ask_colour', { question: 'Which?' }, 'q'), lookUp), pay(4), say('done')],
    meanwhile: async (run) => {
      await waiting(run, 4);
      await run.approve('pay-1', { id: 'd1', by: 'ann' });
      await run.reject('pay-3', { id: 'd3', reason: 'too much' });
      await run.approve('pay-2', { id: 'd2', arguments: { amount: 20 }, remember: 'tool' });
      await run.respond('q', { colour: 'red' }, { id: 'd4' });
    },
  },
  'decided-with-parsed-arguments': {
    agent: 'deployer',
    script: [
      together(
        callTool('deploy', { version: '1 ' }, 'c1'),
        callTool('deploy', { version: '2' }, 'c2'),
        callTool('deploy', { version: '3' }, 'c3'),
      ),
      callTool('deploy', { version: '4', env: 'test' }, 'c4'),
      say('done'),
    ],
    meanwhile: async (run) => {
      await waiting(run, 2);
      await run.approve('c1', { id: 'd1', by: 'ann' });
      await run.approve('c2', { id: 'd2', by: 'ann', arguments: { version: ' 5' } });
      await until(async () => (await run.approvals()).pending[0]?.callId === 'c4', 'the last call waits');
      await run.approve('c4', { id: 'd4', by: 'ann', arguments: { version: '3' } });
    },
  },
  'permissions-narrowed-and-widened': {
    agent: 'guarded',
    script: [together(pay(1), pay(200), lookUp), pay(2), pay(200), say('done')],
    worker: { authorize: ({ by }) => (by === 'ann' ? { as: 'ann@example.org' } : { refuse: 'not an administrator' }) },
    continueAt: 40,
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.setPermissions({ deny: ['search', { tool: 'refund', args: { amount: '200' } }], ask: ['refund'] }, { id: 'p1', by: 'bob' });
      await run.setPermissions({}, { id: 'p2', by: 'eve' });
      await run.setPermissions({ ask: ['refund'] }, { id: 'p3', by: 'ann' });
      await run.setPermissions({ ask: ['refund'] }, { id: 'p3', by: 'ann' });
      await run.approve('pay-1', { by: 'ann' });
      await until(async () => (await run.approvals()).pending.some(({ callId }) => callId === 'pay-2'), 'the second call waits');
      await run.approve('pay-2', { by: 'ann' });
      await until(async () => (await run.approvals()).pending.length === 1, 'the third call waits');
      const [last] = (await run.approvals()).pending;
      await run.reject(last?.callId ?? '', { by: 'ann' });
    },
  },
  'denied-by-its-deadline': { agent: 'hasty', script: [callTool('soon', {}, 'c1'), say('done')] },
  'decided-by-signal': {
    agent: 'clerk',
    script: [pay(1), say('done')],
    meanwhile: async (run, model, { temporal }) => {
      const { pending } = await waiting(run, 1);
      const workflow = temporal.workflow.getHandle(run.runId);
      const { digest } = pending[0] ?? { digest: '' };
      await workflow.signal('approve', { callId: 'pay-1', id: 's1', digest: 'other' });
      await workflow.signal('approve', { callId: 'pay-1', id: 's2', digest, by: 'ann' });
      await until(() => model.requests.length === 2, 'the call is decided');
    },
  },
  'paused-and-raised-by-signal': {
    agent: 'clerk',
    script: [pay(1), say('done')],
    meanwhile: async (run, _model, { temporal }) => {
      const { pending } = await waiting(run, 1);
      const workflow = temporal.workflow.getHandle(run.runId);
      await workflow.signal('pause');
      await workflow.signal('approve', { callId: 'pay-1', id: 's1', digest: pending[0]?.digest ?? '' });
      await until(async () => (await run.status()).status === 'paused', 'the run is paused');
      await workflow.signal('raise', { id: 'r1', limits: { steps: 20 }, by: 'ann' });
      await workflow.signal('raise', { id: 'r2', limits: { steps: 1 } });
      await until(async () => (await run.status()).limits?.steps === 20, 'the limit is raised');
      await workflow.signal('resume');
    },
  },
  'checked-and-told': {
    agent: 'clerk',
    script: [pay(1), say('done')],
    worker: {
      authorize: ({ by }) => (by === 'ann' ? { as: 'ann@example.org' } : { refuse: 'nobody knows them' }),
      notify: () => undefined,
    },
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.approve('pay-1', { id: 'd1', by: 'eve' }).catch(() => undefined);
      await run.approve('pay-1', { id: 'd2', by: 'ann' });
    },
  },
  'asked-at-limits': {
    agent: 'bounded',
    script: [threeLookUps, lookUp, say('done')],
    meanwhile: async (run) => {
      const [calls] = (await waiting(run, 1)).pending;
      await run.approve(calls?.callId ?? '', { id: 'd1', by: 'ann' });
      await until(async () => (await run.approvals()).pending[0]?.reason?.includes('tokens') === true, 'the limit of tokens');
      await run.raise({ totalTokens: 100 }, { id: 'r1', by: 'ann' });
    },
  },
  'cancelled-by-signal-while-it-waits': {
    agent: 'clerk',
    script: [together(pay(1), lookUp)],
    meanwhile: async (run, _, { temporal }) => {
      await waiting(run, 1);
      await temporal.workflow.getHandle(run.runId).signal('cancel', { reason: 'enough', by: 'ann' });
    },
  },
};

function pay(amount: number): ScriptedReply {
  return callTool('refund', { amount }, `pay-${amount}`);
}
