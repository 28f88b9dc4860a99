import fc from 'fast-check';
import { expect, test } from 'vitest';
import { agent, ask, defineProgram, forEach, parallel, unit } from '../../../../src/define/program/index.ts';
import { runFakeProgram } from './fake-program.ts';

const { document } = defineProgram({
  name: 'children',
  model: 'scripted/model',
  input: { type: 'object' },
  units: [
    unit('all', {}, [
      parallel('Both', [
        [agent('First', 'a', 'first {{input.n}}'), ask('After', 'after {{First}}')],
        [forEach('Each', '{{input.items}}', { as: 'item', atOnce: 2 }, [agent('One', 'a', '{{item}}'), ask('Ask', 'of {{One}}')])],
      ]),
      agent('Last', 'a', '{{Both}} {{Each}}'),
    ]),
  ],
  output: { both: '{{all.Both}}', each: '{{all.Each}}', last: '{{all.Last}}' },
});
const input = { n: 1, items: ['x', 'y', 'z'] };
const answer = ({ address }: { address: string }): string => `answer of ${address}`;

test('a program that continues as new at any point starts each child once, and has the same result', async () => {
  const undisturbed = await runFakeProgram({ document, input, answer });
  expect(undisturbed.result.status).toBe('completed');
  expect(undisturbed.children).toHaveLength(5);
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.boolean()), fc.array(fc.nat(30), { minLength: 5, maxLength: 5 }), async (dues, turns) => {
      const { result, children, executions } = await runFakeProgram({
        document,
        input,
        answer,
        continueDue: () => dues.next().value === true,
        childTurns: (runId) => turns[runId.length % turns.length] ?? 1,
      });
      expect({ output: result.output, status: result.status }).toEqual({ output: undisturbed.result.output, status: 'completed' });
      expect(children.toSorted()).toEqual(undisturbed.children.toSorted());
      expect(executions).toBeGreaterThan(0);
    }),
    { numRuns: 200 },
  );
});
