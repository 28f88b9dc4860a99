import { z } from 'zod';
import { ask, branch, forEach, parallel, repeat, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { say } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { odd, slowly, tenfold } from './definitions.ts';

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
