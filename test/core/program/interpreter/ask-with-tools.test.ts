import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnswerVerdict } from '../../../../src/core/domain/verdicts.ts';
import { ask, defineProgram, forEach, parallel, unit } from '../../../../src/define/program/index.ts';
import { runFakeProgram } from './fake-program.ts';

const tools = ['find'];
const refine = { maxAttempts: 3 };
const { document } = defineProgram({
  name: 'shop',
  model: 'scripted/model',
  input: { type: 'object' },
  units: [
    unit('all', { persona: 'You sell {{input.n}}.', anchors: ['SafeOutput'], effort: 'low' }, [
      parallel('Both', [
        [
          ask('First', 'Find {{input.n}}', { tools, refine, anchors: ['FactualOnly', 'SafeOutput'], settings: { temperature: 0 } }),
          ask('After', 'after {{First}}'),
        ],
        [
          forEach('Each', '{{input.items}}', { as: 'item', atOnce: 2 }, [
            ask('One', '{{item}}', { tools, limits: { steps: 4, toolCalls: 2 } }),
          ]),
        ],
      ]),
      ask('Last', '{{Both}}', { tools, requiredFields: ['a'], range: { max: 2 }, output: { type: 'object' } }),
    ]),
  ],
  output: { both: '{{all.Both}}', last: '{{all.Last}}' },
});
const input = { n: 1, items: ['x', 'y', 'z'] };
const answer = ({ address }: { address: string }): string => `answer of ${address}`;
const PASSED: AnswerVerdict = { anchors: { passed: true, checked: ['SafeOutput'], breaches: [], warnings: [], excused: [] } };
const BREACHED: AnswerVerdict = {
  anchors: {
    passed: false,
    checked: ['SafeOutput'],
    breaches: [{ anchor: 'SafeOutput', violations: ['harmful'] }],
    warnings: [],
    excused: [],
  },
};
const childVerdict = (runId: string): AnswerVerdict => (runId.endsWith('all.First') ? BREACHED : PASSED);

test('an ask with tools is described by its program, with everything rendered', async () => {
  const { starts, result } = await runFakeProgram({ document, input, answer, childVerdict });
  expect(result.status).toBe('completed');
  const [first, ...others] = starts.map((start) => (start.kind === 'agent' ? start.input : undefined));
  expect(first).toEqual({
    agent: 'shop/all.First',
    document: {
      step: 'First',
      model: 'scripted/model',
      instructions: ['You sell 1.'],
      tools,
      anchors: ['SafeOutput', 'FactualOnly'],
      settings: { reasoningEffort: 'low', temperature: 0 },
    },
    input: 'Find 1',
    limits: { steps: 10 },
    parent: { runId: 'run-1', depth: 1, checkMs: 3_600_000 },
  });
  expect(others.find((one) => one?.agent === 'shop/all.One')).toMatchObject({ limits: { steps: 4, toolCalls: 2 } });
  expect(others.find((one) => one?.agent === 'shop/all.First')?.input).toContain('Previous attempt failed: The answer breaches the anchor');
  expect(others.at(-1)?.document).toMatchObject({ requiredFields: ['a'], range: { max: 2 }, output: { type: 'object' } });
});

test('the model calls of an ask with tools count as steps of the program', async () => {
  const { result } = await runFakeProgram({ document, input, answer, childVerdict });
  // Two for each of the six runs, and one of the plain step.
  expect(result.stepsUsed).toBe(2 * 6 + 1);
});

test('a program that continues as new at any point starts each run once, and judges its answer the same', async () => {
  const undisturbed = await runFakeProgram({ document, input, answer, childVerdict });
  const attemptsOf = ({ events }: { events: typeof undisturbed.events }): unknown[] =>
    events
      .flatMap(({ step }) => (step?.type === 'attempt' && step.child !== undefined ? [step] : []))
      .toSorted((one, other) => (one.child ?? '').localeCompare(other.child ?? ''))
      .map(({ at, child, verdict, promptLength, error }) => [at, child, verdict, promptLength, error]);
  expect(attemptsOf(undisturbed)).toHaveLength(6);
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.boolean()), fc.array(fc.nat(30), { minLength: 5, maxLength: 5 }), async (dues, turns) => {
      const run = await runFakeProgram({
        document,
        input,
        answer,
        childVerdict,
        continueDue: () => dues.next().value === true,
        childTurns: (runId) => turns[runId.length % turns.length] ?? 1,
      });
      expect({ output: run.result.output, status: run.result.status }).toEqual({ output: undisturbed.result.output, status: 'completed' });
      expect(run.children.toSorted()).toEqual(undisturbed.children.toSorted());
      expect(attemptsOf(run)).toEqual(attemptsOf(undisturbed));
    }),
    { numRuns: 100 },
  );
});
