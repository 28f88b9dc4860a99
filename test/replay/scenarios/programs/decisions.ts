import { agent, ask, human, parallel, recall, remember, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { failWith, hang, say } from '../../../../src/testing/index.ts';
import { deploy } from '../../../server/approvals/decision-agents.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import { cancelled, type ProgramScenario, waiting } from '../../scenario.ts';
import { send, sign, writer } from './definitions.ts';

const decided = defineProgram({
  name: 'decided',
  model: 'scripted/m',
  units: [
    unit('before', { needs: [] }, [
      ask('Draft', 'Draft it.', { approval: true }),
      tool('Sign', sign, { letter: '{{Draft}}' }, { approval: { deadline: '1h' } }),
      tool('Stranger', send, { to: 'Eve' }),
      tool('Friend', send, { to: 'Ann' }),
      sleep('Nap', '1h', { approval: true }),
      remember('Keep', 'k', 'v', { approval: true }),
      recall('Find', 'nothing', { approval: true }),
      ask('Given', 'never asked', { approval: true }),
    ]),
    unit('after', { needs: ['before'] }, [
      ask('Accepted', 'a', { review: true }),
      ask('Edited', 'e', { review: true }),
      ask('Again', 'r', { review: true, refine: { maxAttempts: 2, backoff: 'linear' } }),
      tool('Looked', search, { query: '{{Edited}}' }, { review: true }),
      human('Who', 'Who?', { approval: true, review: true, refine: { maxAttempts: 2 } }),
    ]),
  ],
});

const rejected = defineProgram({
  name: 'rejected',
  model: 'scripted/m',
  units: [
    unit('one', { needs: [] }, [ask('Draft', 'Draft it.', { approval: true, refine: { maxAttempts: 3 } }), ask('Never', 'never')]),
    unit('two', { needs: [] }, [tool('Sign', sign, { letter: 'a' })]),
    unit('three', { needs: [] }, [ask('Poor', 'p', { review: true })]),
  ],
});

const timed = defineProgram({
  name: 'timed',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      ask('Soon', 's', { approval: { deadline: '500ms', onDeadline: 'approve' } }),
      human('Unanswered', 'Who?', { deadline: '500ms', refine: { maxAttempts: 1, onExhaustion: 'skip' } }),
      ask('Last', 'l', { review: { deadline: '500ms', onDeadline: 'approve' } }),
    ]),
  ],
});

const checked = defineProgram({
  name: 'checked',
  model: 'scripted/m',
  units: [unit('all', {}, [tool('Sign', sign, { letter: 'a' }), human('Who', 'Who?'), tool('Sent', send, { to: '{{Who}}' })])],
});

/** Decides about each step of a program as soon as it waits, in the given order. */
function deciding(...programDecisions: [callId: string, decision: Decide][]): NonNullable<ProgramScenario['meanwhile']> {
  return async (run) => {
    for (const [callId, decide] of programDecisions) {
      await until(async () => (await run.approvals()).pending.some((one) => one.callId === callId), `"${callId}" waits`);
      await decide(run, callId);
    }
  };
}

type Run = Parameters<NonNullable<ProgramScenario['meanwhile']>>[0];
type Decide = (run: Run, callId: string) => Promise<unknown>;

const approve =
  (args?: Parameters<Run['approve']>[1]): Decide =>
  (run, callId) =>
    run.approve(callId, { id: callId, ...args });
const reject =
  (reason: string): Decide =>
  (run, callId) =>
    run.reject(callId, { id: callId, reason, by: 'bob' });
const respond =
  (content: string): Decide =>
  (run, callId) =>
    run.respond(callId, content, { id: callId, by: 'ann' });

const deploying = defineProgram({
  name: 'deploying',
  units: [unit('all', {}, [parallel('Both', [[tool('First', deploy, { version: '1 ' })], [tool('Second', deploy, { version: '2' })]])])],
  output: '{{all.Both}}',
});

/** Steps that wait for people. */
export const programDecisions: Record<string, ProgramScenario> = {
  'program-decided-in-every-way': {
    program: decided,
    script: [say('draft'), say('fine'), say('poor'), say('too short'), say('longer')],
    meanwhile: deciding(
      ['before.Draft', approve({ arguments: { prompt: 'Draft it well.' }, by: 'ann' })],
      ['before.Sign', approve({ arguments: { letter: 'a better draft' } })],
      ['before.Stranger', approve({ remember: 'tool' })],
      ['before.Nap', approve({ arguments: { for: 300 } })],
      ['before.Keep', approve({ arguments: { key: 'other', value: 'kept' } })],
      ['before.Find', approve({ arguments: { query: 'other' } })],
      ['before.Given', respond('by hand')],
      ['after.Accepted.review', approve()],
      ['after.Edited.review', approve({ arguments: { output: 'better' } })],
      ['after.Again.review', reject('too short')],
      ['after.Again.review#2', approve()],
      ['after.Looked.review', approve()],
      ['after.Who.approval', approve({ arguments: { question: 'You?' } })],
      ['after.Who', reject('not me')],
      ['after.Who#2', respond('Ann')],
      ['after.Who.review#2', respond('Ann Smith')],
    ),
  },
  'program-decided-with-parsed-arguments': {
    program: deploying,
    script: [],
    meanwhile: deciding(['all.First', approve()], ['all.Second', approve({ arguments: { version: ' 3' } })]),
  },
  'program-with-rejected-steps': {
    program: rejected,
    script: [say('poor')],
    meanwhile: async (run) => {
      await waiting(run, 3);
      for (const callId of ['two.Sign', 'three.Poor.review', 'one.Draft']) await run.reject(callId, { id: callId, reason: 'no' });
    },
  },
  'program-decided-by-its-deadlines': { program: timed, script: [say('s'), say('l')] },
  'program-with-checked-decisions': {
    program: checked,
    script: [],
    worker: {
      authorize: ({ by }) => (by === 'ann' ? { as: 'ann@example.org' } : { refuse: 'unknown' }),
      notify: () => undefined,
      notifyEnded: () => undefined,
    },
    meanwhile: async (run, _, { temporal }) => {
      await waiting(run, 1);
      await run.approve('all.Sign', { id: 'd1', by: 'eve' }).catch(() => undefined);
      await run.approve('all.Sign', { id: 'd2', by: 'ann' });
      await until(async () => (await run.approvals()).pending[0]?.callId === 'all.Who', 'the question waits');
      const { digest } = (await run.approvals()).pending[0] ?? { digest: '' };
      await temporal.workflow.getHandle(run.runId).signal('respond', { callId: 'all.Who', id: 's1', digest, content: 'Ann', by: 'ann' });
    },
  },
};

const limited = defineProgram({
  name: 'limited',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      parallel('Both', [[ask('A', 'a')], [tool('Look', search, { query: 'a' }), ask('B', 'b')]]),
      tool('Free', search, { query: 'of {{Both}}' }),
      ask('C', 'c'),
    ]),
  ],
  output: '{{all.Both}}',
  limits: { steps: 2 },
});

const brief = defineProgram({
  name: 'brief',
  model: 'scripted/m',
  units: [unit('all', {}, [parallel('Both', [[sleep('Nap', '1h')], [human('Who', 'Who?')]]), ask('A', 'a')])],
  limits: { deadline: '1s' },
});

const raised = defineProgram({
  name: 'raised',
  model: 'scripted/m',
  units: [unit('all', {}, [ask('A', 'a'), human('Who', 'Who?'), tool('Look', search, { query: 'a' }), ask('B', '{{Who}}')])],
  limits: { steps: 1, toolCalls: 1 },
});

const waits = defineProgram({
  name: 'stopped_waits',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      parallel('All', [
        [sleep('Nap', '1h')],
        [human('Who', 'Who?')],
        [ask('A', 'a', { refine: { maxAttempts: 9, backoff: 'exponential' } })],
        [tool('Look', search, { query: 'a' }), ask('Later', 'l', { approval: true })],
      ]),
    ]),
  ],
});

const calls = defineProgram({
  name: 'stopped_calls',
  model: 'scripted/m',
  units: [unit('all', {}, [ask('A', 'a'), parallel('Both', [[ask('B', 'b')], [agent('Letter', writer, 'Write')]]), ask('C', 'c')])],
  output: '{{all.A}}',
});

/** Programs that a limit or a cancellation ends, and programs that are paused. */
export const interruptions: Record<string, ProgramScenario> = {
  'program-at-its-limit': { program: limited, script: [say('x'), say('x')] },
  'program-at-its-deadline': { program: brief, script: [] },
  'program-paused-and-raised': {
    program: raised,
    script: [say('a'), say('b')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.pause();
      await run.respond('all.Who', 'Ann', { id: 'd1' });
      await until(async () => (await run.status()).status === 'paused', 'the run is paused');
      await run.raise({ steps: 3 }, { id: 'r1', by: 'ann' });
      await run.resume();
    },
  },
  'program-cancelled-in-its-waits': {
    program: waits,
    script: [failWith('model_forbidden', 'no')],
    meanwhile: async (run, model, { temporal }) => {
      await waiting(run, 2);
      await until(() => model.requests.length === 1, 'the model call');
      await temporal.workflow.getHandle(run.runId).signal('cancel', { reason: 'enough', by: 'ann' });
    },
  },
  'program-cancelled-in-its-calls': { program: calls, script: [say('a'), hang('half')], childScript: [hang('half')], meanwhile: cancelled },
  'program-of-an-unknown-name': {
    program: { ...calls, name: 'unknown' },
    worker: { programs: [], missingTimeout: '1ms' },
    script: [],
  },
};
