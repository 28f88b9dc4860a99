import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask, branch, forEach, parallel, repeat, sleep, tool, unit } from '../../../src/define/program/index.ts';
import { failWith, say, structured } from '../../../src/testing/index.ts';
import { one, type ProgramScenario, programScenario, several } from './scenario.ts';

const odd = defineTool({
  name: 'odd',
  description: 'Refuses even numbers.',
  parameters: z.object({ n: z.number() }),
  maxAttempts: 1,
  execute: ({ n }) => {
    if (n % 2 === 0) throw new Error(`${n} is even`);
    return { n };
  },
});
const times = defineTool({
  name: 'times',
  description: 'Multiplies.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a * b,
});

/** Blocks and graphs. */
export const BLOCKS: readonly ProgramScenario[] = [
  programScenario(
    'a branch takes the first case that holds',
    one([
      ask('Kind', 'k', { output: { type: 'object', properties: { kind: { type: 'string' } } } }),
      branch(
        'Way',
        [
          { when: { of: 'Kind.kind', is: { const: 'bug' } }, steps: [ask('Bug', 'bug')] },
          { when: { of: 'Kind.kind', is: { enum: ['refund', 'bug'] } }, steps: [ask('Refund', 'refund')] },
        ],
        { else: [ask('Other', 'other')] },
      ),
      ask('Last', '{{Way}}'),
    ]),
    {
      script: [structured({ kind: 'refund' }), say('paid'), say('end')],
      course: { status: 'completed', output: 'end', prompts: ['k', 'refund', 'paid'] },
    },
  ),
  programScenario(
    'a branch without a case that holds takes the other one, or none',
    one(
      [
        branch('Way', [{ when: { of: 'input.n', is: { minimum: 9 } }, steps: [ask('Big', 'big')] }], { else: [ask('Small', 'small')] }),
        branch('No', [{ when: { of: 'input.missing', is: {} }, steps: [ask('Never', 'never')] }]),
      ],
      { output: { way: '{{u.Way}}', no: '{{u.No}}' } },
    ),
    {
      input: { n: 1 },
      script: [say('s')],
      course: { status: 'completed', output: { way: 's', no: null } },
    },
  ),
  programScenario(
    'parallel branches give the list of their last outputs',
    one([
      parallel('Both', [
        [tool('L', odd, { n: 1 }), tool('L2', times, { a: '{{L.n}}', b: 5 })],
        [sleep('Nap', 10)],
        [tool('R', times, { a: 2, b: 3 })],
      ]),
    ]),
    { script: [], course: { status: 'completed', output: [5, null, 6] } },
  ),
  programScenario(
    'a branch that fails fails its block, after the others have ended',
    one([parallel('Both', [[tool('Bad', odd, { n: 2 })], [sleep('Nap', 20), tool('Good', odd, { n: 3 })]]), tool('Never', odd, { n: 1 })]),
    {
      script: [],
      course: { status: 'error', error: ['2 is even'], steps: { 'u.Both': 'failed', 'u.Good': 'completed', 'u.Never': 'none' } },
    },
  ),
  programScenario(
    'the items of a list run in parallel and keep their order',
    one(
      [
        forEach('Each', '{{input.list}}', { as: 'n', atOnce: 2 }, [
          tool('One', times, { a: '{{n}}', b: 10 }),
          tool('Two', times, { a: '{{One}}', b: '{{n}}' }),
        ]),
        forEach('None', 'input.none', {}, [tool('Nothing', times, { a: '{{item}}', b: 1 })]),
      ],
      { output: { each: '{{u.Each}}', third: '{{u.Each[2]}}', none: '{{u.None}}' } },
    ),
    {
      input: { list: [1, 2, 3, 4], none: [] },
      script: [],
      course: { status: 'completed', output: { each: [10, 40, 90, 160], third: 90, none: [] } },
    },
  ),
  programScenario(
    'an item that fails ends the list, with its error',
    one([forEach('Each', '{{input.list}}', { as: 'n', atOnce: 1 }, [tool('One', odd, { n: '{{n}}' })])]),
    {
      input: { list: [1, 4, 5] },
      script: [],
      course: { status: 'error', error: ['4 is even'], steps: { 'u.Each': 'failed', 'u.One[1]': 'failed', 'u.One[2]': 'none' } },
    },
  ),
  programScenario(
    'an item whose step may be skipped has no output, and the others do',
    one([
      forEach('Each', '{{input.list}}', { as: 'n' }, [
        tool('One', odd, { n: '{{n}}' }, { refine: { maxAttempts: 1, onExhaustion: 'skip' } }),
      ]),
    ]),
    { input: { list: [1, 4, 5] }, script: [], course: { status: 'completed', output: [{ n: 1 }, null, { n: 5 }] } },
  ),
  programScenario(
    'a value that is not a list fails its block',
    one([forEach('Each', '{{input.list}}', {}, [tool('One', odd, { n: '{{item}}' })])]),
    {
      input: { list: 'abc' },
      script: [],
      course: { status: 'error', error: ['not a list'] },
    },
  ),
  programScenario(
    'loops inside loops see the items of both, and the list of the inner one may be an item',
    one([
      forEach('Rows', '{{input.rows}}', { as: 'row', atOnce: 2 }, [
        forEach('Cells', '{{row.cells}}', { as: 'cell', atOnce: 2 }, [tool('Cell', times, { a: '{{cell}}', b: '{{row.factor}}' })]),
      ]),
    ]),
    {
      input: {
        rows: [
          { factor: 10, cells: [1, 2] },
          { factor: 100, cells: [3] },
          { factor: 1, cells: [] },
        ],
      },
      script: [],
      course: { status: 'completed', output: [[10, 20], [300], []] },
    },
  ),
  programScenario(
    'steps are repeated until the condition holds',
    one([repeat('Again', { until: { of: 'Try', is: { const: 'ok' } }, atMost: 5 }, [ask('Try', 'try')]), ask('Last', '{{Again}} {{Try}}')]),
    {
      script: [say('no'), say('no'), say('ok'), say('end')],
      course: { status: 'completed', output: 'end', prompts: ['try', 'try', 'try', 'ok ok'] },
    },
  ),
  programScenario(
    'steps are repeated at most as often as the block says',
    one([repeat('Again', { until: { of: 'Try', is: { const: 'ok' } }, atMost: 2 }, [ask('Try', 'try')])]),
    {
      script: [say('no'), say('never')],
      course: { status: 'completed', output: 'never' },
    },
  ),
  programScenario(
    'a round that fails fails the block',
    one([repeat('Again', { until: { of: 'Try', is: { const: 'ok' } }, atMost: 3 }, [ask('Try', 'try')])]),
    {
      script: [say('no'), failWith('model_error', 'down')],
      course: { status: 'error', error: ['down'], steps: { 'u.Again': 'failed' } },
    },
  ),
  programScenario(
    'a round inside an item sees only the other rounds of that item',
    one([
      forEach('Each', '{{input.list}}', { as: 'n', atOnce: 1 }, [
        repeat('Grow', { until: { of: 'Size', is: { minimum: 100 } }, atMost: 4 }, [tool('Size', times, { a: '{{n}}', b: 60 })]),
        tool('Half', times, { a: '{{Grow}}', b: 2 }),
      ]),
    ]),
    { input: { list: [1, 2] }, script: [], course: { status: 'completed', output: [120, 240] } },
  ),
  programScenario(
    'a fallback inside an item belongs to the item',
    one([
      forEach('Each', '{{input.list}}', { as: 'n', atOnce: 1 }, [
        tool('One', odd, { n: '{{n}}' }, { refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Plan' } }),
        tool('Plan', times, { a: '{{n}}', b: 100 }),
        branch('Way', [{ when: { of: 'One.n', is: {} }, steps: [tool('Odd', times, { a: '{{One.n}}', b: 1 })] }], {
          else: [tool('Even', times, { a: '{{One}}', b: 1 })],
        }),
      ]),
    ]),
    { input: { list: [1, 2, 3] }, script: [], course: { status: 'completed', output: [1, 200, 3] } },
  ),
  programScenario(
    'a block is skipped by its condition, and its output is null',
    one([
      parallel('P', [[ask('A', 'a')]], { when: { of: 'input.x', is: { const: 1 } } }),
      forEach('F', '{{input.list}}', { when: { of: 'input.x', is: { const: 1 } } }, [ask('B', 'b {{item}}')]),
      ask('C', '{{P}} {{F}}'),
    ]),
    { input: { x: 2, list: [1] }, script: [say('c')], course: { status: 'completed', prompts: ['null null'] } },
  ),
  programScenario(
    'items inside rounds inside items see their own values',
    one([
      forEach('Rows', '{{input.rows}}', { as: 'row', atOnce: 1 }, [
        repeat('Twice', { until: { of: 'Cells', is: { type: 'string' } }, atMost: 2 }, [
          forEach('Cells', '{{row}}', { as: 'cell', atOnce: 1 }, [
            tool('Cell', times, { a: '{{cell}}', b: 2 }),
            tool('Again', times, { a: '{{Cell}}', b: '{{cell}}' }),
          ]),
        ]),
      ]),
    ]),
    { input: { rows: [[1, 2], [3]] }, script: [], course: { status: 'completed', output: [[2, 8], [18]] } },
  ),
  programScenario(
    'units form a graph: one that needs two waits for both',
    several(
      [
        unit('join', { needs: ['a', 'b'] }, [ask('J', '{{a.A}} {{b.B.n}}')]),
        unit('a', {}, [sleep('Nap', 20), ask('A', 'a')]),
        unit('b', { when: { of: 'input.b', is: { const: true } } }, [tool('B', odd, { n: 7 })]),
      ],
      { output: '{{join.J}}' },
    ),
    {
      input: { b: true },
      script: [say('A!'), say('joined')],
      course: { status: 'completed', output: 'joined', prompts: ['a', 'A! 7'] },
    },
  ),
  programScenario(
    'a unit whose condition does not hold is skipped, and so is one that needs it',
    several([
      unit('a', { needs: [], when: { of: 'input.a', is: { const: true } } }, [ask('A', 'a')]),
      unit('b', { needs: ['a'] }, [ask('B', 'b')]),
      unit('c', { needs: [] }, [ask('C', 'c')]),
    ]),
    {
      input: { a: false },
      script: [say('c')],
      course: {
        status: 'completed',
        output: 'c',
        steps: {
          a: 'skipped: the condition on "input.a" does not hold',
          b: 'skipped: it needs unit "a", which was skipped',
          c: 'completed',
        },
      },
    },
  ),
];
