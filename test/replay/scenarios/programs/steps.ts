import { z } from 'zod';
import { agent, ask, branch, human, program, recall, remember, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { failWith, say, structured } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { waiting } from '../waits.ts';
import { odd, sums, tenfold, writer } from './definitions.ts';

const everyKind = defineProgram({
  name: 'every_kind',
  model: 'scripted/m',
  input: z.object({ ticket: z.string() }),
  units: [
    unit('work', { persona: 'You sort tickets.' }, [
      ask('Kind', 'What is it? {{input.ticket}}', { output: z.object({ kind: z.string(), n: z.number() }) }),
      tool('Look', search, { query: '{{Kind.kind}}' }),
      tool('Ten', tenfold, { n: '{{Kind.n}}' }),
      sleep('Nap', '1200ms'),
      remember('Keep', '{{input.ticket}}', { ten: '{{Ten}}' }),
      recall('Find', '{{input.ticket}}'),
      // The path depends on the results: another order of the two previous steps leads elsewhere.
      branch(
        'Way',
        [{ when: { of: 'Find[0].value.ten', is: { const: 70 } }, steps: [tool('Again', search, { query: '{{Find[0].key}}' })] }],
        {
          else: [ask('Never', 'never')],
        },
      ),
      human('Who', 'Who signs {{Look}}?'),
      agent('Letter', writer, 'Write to {{Who}}.'),
      program('Sum', sums, { n: '{{Kind.n}}' }),
      ask('Last', '{{Way}} {{Letter.letter}} {{Sum.said}}', { timeout: '1m' }),
    ]),
  ],
});

const attempts = defineProgram({
  name: 'attempts',
  model: 'scripted/m',
  units: [
    unit('linear', { anchors: ['RequiresCitation'] }, [ask('Cited', 'Cite.', { refine: { maxAttempts: 3, backoff: 'linear' } })]),
    unit('others', {}, [
      ask('Sure', 'How sure?', {
        output: z.object({ answer: z.string(), confidence: z.number() }),
        confidenceFloor: 0.8,
        refine: { maxAttempts: 2, backoff: 'exponential' },
      }),
      ask('Blind', 'b', { requiredFields: ['x'], output: z.object({}), refine: { maxAttempts: 2, passFailureContext: false } }),
      tool('Even', odd, { n: 2 }, { refine: { maxAttempts: 2, onExhaustion: 'skip' } }),
      ask('Plan', 'p', { refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Other' } }),
      tool('Other', odd, { n: 3 }),
      ask('Fails', 'f', { refine: { maxAttempts: 2 } }),
      ask('Never', 'never'),
    ]),
  ],
});

/** Steps of every kind, and the attempts of a step. */
export const steps: Record<string, ProgramScenario> = {
  'program-with-every-kind-of-step': {
    program: everyKind,
    start: { input: { ticket: 'T1' }, deps: { user: 1 }, tags: ['acme'] },
    script: [structured({ kind: 'refund', n: 7 }), say('done')],
    childScript: [structured({ letter: 'Dear Ann' }), say('seventy')],
    meanwhile: async (run) => {
      await waiting(run, 1);
      await run.respond('work.Who', 'Ann', { id: 'd1', by: 'bob' });
    },
  },
  'program-with-further-attempts': {
    program: attempts,
    script: [
      say('no source'),
      say('still none'),
      say('see [1]'),
      structured({ answer: 'a', confidence: 0.2 }),
      structured({ answer: 'b', confidence: 0.9 }),
      structured({}),
      structured({ x: 1 }),
      failWith('model_forbidden', 'no'),
      failWith('model_forbidden', 'no'),
      failWith('model_forbidden', 'no'),
    ],
  },
};
