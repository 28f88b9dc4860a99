import { z } from 'zod';
import {
  agent,
  ask,
  branch,
  forEach,
  human,
  parallel,
  program,
  recall,
  remember,
  repeat,
  sleep,
  tool,
  unit,
} from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { callTool, failWith, say, structured } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import { type ProgramScenario, waiting } from '../../scenario.ts';
import { odd, sign, slowly, sums, tenfold, writer } from './definitions.ts';

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

const graph = defineProgram({
  name: 'graph',
  model: 'scripted/m',
  input: z.object({ wanted: z.boolean() }),
  units: [
    unit('join', { needs: ['left', 'right'] }, [tool('Joined', search, { query: '{{left.A}} {{right.B}}' })]),
    unit('left', { needs: [] }, [sleep('Nap', '300ms'), ask('A', 'a')]),
    unit('right', { needs: [] }, [tool('B', search, { query: 'b' })]),
    unit('unwanted', { needs: ['right'], when: { of: 'input.wanted', is: { const: true } } }, [ask('Never', 'never')]),
    unit('after', { needs: ['unwanted'] }, [ask('NeverEither', 'never')]),
    unit('bad', { needs: ['right'] }, [tool('Even', odd, { n: 2 })]),
    unit('after_bad', { needs: ['bad'] }, [ask('NotAfterIt', 'never')]),
  ],
  output: '{{join.Joined}}',
});

const inOrder = defineProgram({
  name: 'in_order',
  model: 'scripted/m',
  input: z.object({ wanted: z.boolean() }),
  units: [
    unit('one', {}, [ask('A', 'a')]),
    unit('unwanted', { when: { of: 'one.A', is: { const: 'b' } } }, [ask('Never', 'never')]),
    unit('two', { persona: 'You know {{one.A}}.', when: { of: 'one.A', is: { const: 'a' } } }, [
      ask('B', 'b', { when: { of: 'input.wanted', is: { const: true } } }),
      tool('C', search, { query: '{{one.A}} {{B}}' }),
    ]),
  ],
  output: { a: '{{one.A}}', c: '{{two.C}}' },
});

/** Units in their order and as a graph. */
export const units: Record<string, ProgramScenario> = {
  'program-as-a-graph-of-units': { program: graph, start: { input: { wanted: false } }, script: [say('a')] },
  'program-given-as-a-document': { program: inOrder, asDocument: true, start: { input: { wanted: false } }, script: [say('a')] },
};

const withTools = defineProgram({
  name: 'with-tools',
  model: 'scripted/m',
  units: [
    unit('all', { persona: 'You write letters.', anchors: ['RequiresCitation'] }, [
      ask('Letter', 'Write to Ann', { tools: [sign, tenfold], refine: { maxAttempts: 2 } }),
      ask('End', 'Was it {{Letter}}?', { anchors: [] }),
    ]),
  ],
});

const limited = defineProgram({
  name: 'limited',
  model: 'scripted/m',
  limits: { steps: 2 },
  onLimit: 'ask',
  units: [unit('all', {}, [ask('One', '1'), ask('Two', '2'), ask('Three', '3')])],
});

/** Programs with asks that have tools, and with a limit that a person raises. */
export const asksAndLimits: Record<string, ProgramScenario> = {
  'program-with-an-ask-with-tools': {
    program: withTools,
    script: [
      callTool('sign', { letter: 'Dear Ann' }, 's'),
      say('Dear Ann'),
      callTool('tenfold', { n: 1 }, 't'),
      say('Dear Ann [1]'),
      say('yes [1]'),
    ],
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the approval of the tool', 30);
      const [pending] = (await run.approvals()).pending;
      if (pending !== undefined) await run.approve(pending, { id: 'd1' });
    },
  },
  'program-asked-at-its-limit': {
    program: limited,
    script: [say('one'), say('two'), say('three')],
    meanwhile: async (run) => {
      await until(async () => (await run.approvals()).pending.length === 1, 'the request to raise the limit', 30);
      const [pending] = (await run.approvals()).pending;
      if (pending !== undefined) await run.approve(pending, { id: 'd1' });
    },
  },
};

const everyBlock = defineProgram({
  name: 'blocks',
  model: 'scripted/m',
  input: z.object({ items: z.array(z.string()), numbers: z.array(z.number()), rows: z.array(z.array(z.number())) }),
  units: [
    unit('all', {}, [
      parallel('Both', [
        [ask('A', 'a'), tool('Look', search, { query: '{{A}}' })],
        [sleep('Nap', '300ms'), tool('Ten', tenfold, { n: 1 })],
        [tool('First', tenfold, { n: 2 }), ask('B', '{{First}}')],
      ]),
      // Each item goes another way, so that their order can be seen in the history.
      forEach('Each', '{{input.items}}', { as: 'way', atOnce: 2 }, [
        branch(
          'Way',
          [
            { when: { of: 'way', is: { const: 'ask' } }, steps: [ask('Asked', '{{way}}')] },
            { when: { of: 'way', is: { enum: ['look', 'ask'] } }, steps: [tool('Looked', search, { query: '{{way}}' })] },
          ],
          { else: [sleep('Slept', '200ms')] },
        ),
      ]),
      forEach('Tens', '{{input.numbers}}', { as: 'n', atOnce: 3 }, [tool('OneTen', tenfold, { n: '{{n}}' })]),
      repeat('Again', { until: { of: 'Try', is: { const: 'ok' } }, atMost: 4 }, [ask('Try', 'try')]),
      repeat('Twice', { until: { of: 'Try', is: { const: 'never' } }, atMost: 2 }, [
        forEach('Rows', '{{input.rows}}', { as: 'row', atOnce: 1 }, [
          forEach('Cells', '{{row}}', { as: 'cell' }, [tool('Cell', search, { query: '{{cell}} {{Again}}' })]),
        ]),
      ]),
      ask('Skipped', 'skipped', { when: { of: 'Tens[0]', is: { const: 11 } } }),
      parallel('AlsoSkipped', [[tool('Never', search, { query: 'never' })]], { when: { of: 'Skipped', is: { type: 'string' } } }),
      tool('Last', search, { query: '{{Each}} {{Skipped}}' }),
    ]),
  ],
});

const failing = defineProgram({
  name: 'failing',
  input: z.object({ numbers: z.array(z.number()) }),
  units: [
    unit('items', {}, [
      parallel('Both', [
        [
          forEach('Each', '{{input.numbers}}', { as: 'n', atOnce: 2 }, [
            tool('One', odd, { n: '{{n}}' }),
            tool('Two', search, { query: 'n {{One}}' }),
          ]),
        ],
        [sleep('Nap', '200ms'), tool('Ended', search, { query: 'all the same' })],
      ]),
      tool('Never', search, { query: 'never' }),
    ]),
  ],
});

const locals = defineProgram({
  name: 'locals',
  units: [
    unit('all', {}, [
      // The shorter branch has two calls before its remote one, and still comes first.
      parallel('Both', [
        [tool('Slow', slowly, { ms: 300 }), tool('AfterSlow', search, { query: 'slow' })],
        [
          tool('One', tenfold, { n: 1 }),
          parallel('Nested', [[parallel('Inside', [[tool('Two', tenfold, { n: '{{One}}' })]])]]),
          tool('AfterTwo', odd, { n: 3 }),
        ],
      ]),
      tool('Alone', tenfold, { n: 4 }),
      tool('Last', search, { query: 'last' }),
    ]),
  ],
});

/** Blocks. */
export const blocks: Record<string, ProgramScenario> = {
  'program-with-blocks': {
    program: everyBlock,
    start: { input: { items: ['ask', 'look', 'sleep', 'look', 'ask'], numbers: [1, 2, 3, 4], rows: [[1, 2], [3]] } },
    script: [say('x'), say('x'), say('x'), say('x'), say('no'), say('ok')],
  },
  'program-with-local-tools-side-by-side': { program: locals, script: [] },
  'program-with-a-failing-item': { program: failing, start: { input: { numbers: [1, 2, 3, 5, 7] } }, script: [] },
};
