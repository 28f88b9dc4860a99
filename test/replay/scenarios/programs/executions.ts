import { z } from 'zod';
import { ask, forEach, human, parallel, repeat, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { failWith, say } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { tenfold } from './definitions.ts';

const long = defineProgram({
  name: 'long',
  model: 'scripted/m',
  input: z.object({ items: z.array(z.number()) }),
  units: [
    unit('first', { needs: [] }, [
      forEach('Each', '{{input.items}}', { as: 'n', atOnce: 2 }, [tool('Ten', tenfold, { n: '{{n}}' }), ask('Say', 'Say {{Ten}} {{n}}')]),
      repeat('Again', { until: { of: 'Try', is: { const: 'never' } }, atMost: 3 }, [tool('Try', search, { query: 'of {{Each}}' })]),
    ]),
    unit('beside', { needs: [] }, [sleep('Nap', '4s'), tool('Late', search, { query: 'late' })]),
    unit('last', { needs: ['first', 'beside'] }, [
      human('Who', 'Who?', { approval: true }),
      ask('Reviewed', '{{Who}}', { review: true, refine: { maxAttempts: 2, backoff: 'linear' } }),
      tool('End', search, { query: '{{Reviewed}}' }),
    ]),
  ],
});

const waits = defineProgram({
  name: 'waits',
  model: 'scripted/m',
  units: [
    unit('all', {}, [
      parallel('Both', [
        [ask('Slow', 's', { refine: { maxAttempts: 2, backoff: 'linear' } })],
        [sleep('Nap', '2s')],
        [human('Who', 'Who?')],
      ]),
      ask('Last', '{{Both}}'),
    ]),
  ],
});

const report = (last: string) =>
  defineProgram({
    name: 'report',
    model: 'scripted/m',
    input: z.object({ topics: z.array(z.string()) }),
    units: [
      unit('u', {}, [
        forEach('Notes', '{{input.topics}}', { as: 'topic', atOnce: 1 }, [ask('Note', 'Note {{topic}}')]),
        tool('Looked', search, { query: 'about {{Notes}}' }),
        ask('Draft', 'Draft from {{Looked}}'),
        ask('Final', last),
      ]),
    ],
  });

const edited = report('Finish well: {{Draft}}');

/** Plays the program as it was before it was edited: its last step fails. */
const failedBefore: NonNullable<ProgramScenario['before']> = async (client, taskQueue) => {
  const earlier = report('Finish {{Draft}}').document;
  await client.runProgram(earlier, { input: { topics: ['x', 'y'] }, taskQueue, runId: `${taskQueue}-before` });
};

/** Programs that continue as new, and programs that take over the results of an earlier run. */
export const programExecutions: Record<string, ProgramScenario> = {
  'program-over-executions': {
    program: long,
    start: { input: { items: [1, 2, 3, 4, 5, 6] } },
    script: [say('1'), say('2'), say('3'), say('4'), say('5'), say('6'), say('poor'), say('good')],
    continueAt: 30,
    meanwhile: async (run) => {
      for (const callId of ['last.Who.approval', 'last.Who', 'last.Reviewed.review', 'last.Reviewed.review#2']) {
        await until(async () => (await run.approvals()).pending.some((one) => one.callId === callId), `"${callId}" waits`, 30);
        if (callId === 'last.Who') await run.respond(callId, 'Ann', { id: callId });
        else if (callId === 'last.Reviewed.review') await run.reject(callId, { id: callId, reason: 'poor' });
        else await run.approve(callId, { id: callId });
      }
    },
  },
  'program-waiting-over-executions': {
    program: waits,
    script: [failWith('model_forbidden', 'no'), say('s'), say('end')],
    worker: { continueAsNew: { updates: 2 } },
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the question waits');
      for (let times = 0; times < 3; times += 1) {
        await run.pause();
        await run.resume();
      }
      await run.respond('all.Who', 'Ann', { id: 'd1' });
    },
  },
  'program-resumed-from-an-earlier-run': {
    program: edited,
    before: failedBefore,
    start: { input: { topics: ['x', 'y'] }, resume: { run: 'program-resumed-from-an-earlier-run-before' } },
    script: [say('a'), say('b'), say('draft'), failWith('model_forbidden', 'no'), say('final')],
  },
  'program-resumed-from-a-step': {
    program: edited,
    before: failedBefore,
    start: { input: { topics: ['x', 'y'] }, resume: { run: 'program-resumed-from-a-step-before', from: 'u.Looked' } },
    script: [say('a'), say('b'), say('draft'), failWith('model_forbidden', 'no'), say('draft 2'), say('final')],
    continueAt: 20,
  },
  'program-resumed-from-an-unknown-run': {
    program: edited,
    start: { input: { topics: ['x'] }, resume: { run: 'there-is-no-such-run' } },
    script: [],
  },
};
