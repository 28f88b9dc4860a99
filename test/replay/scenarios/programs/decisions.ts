import { ask, human, recall, remember, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { say } from '../../../../src/testing/index.ts';
import { until } from '../../../server/testbed/until.ts';
import { search } from '../../../server/testbed/agents.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { waiting } from '../waits.ts';
import { send, sign } from './definitions.ts';

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
function deciding(...decisions: [callId: string, decision: Decide][]): NonNullable<ProgramScenario['meanwhile']> {
  return async (run) => {
    for (const [callId, decide] of decisions) {
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

/** Steps that wait for people. */
export const decisions: Record<string, ProgramScenario> = {
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
