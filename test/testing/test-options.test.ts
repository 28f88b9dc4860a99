import { describe, expect, it, test } from 'vitest';
import { ask, unit } from '../../src/define/program/index.ts';
import { defineAgent, defineProgram } from '../../src/index.ts';
import { durableTest, say, scriptedModel, testAgent, testProgram } from '../../src/testing/index.ts';

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m' });
const triage = defineProgram({ name: 'triage', model: 'scripted/m', units: [unit('one', {}, [ask('Question', 'Hi')])] });
const model = scriptedModel([say('Hi')]);

type Test = (tested: never, options: never) => Promise<unknown>;

async function refusal(run: Test, tested: unknown, options?: unknown): Promise<string> {
  return run(tested as never, options as never).then(
    () => 'no error',
    (error: unknown) => String(error),
  );
}

const TESTS: [string, Test, unknown][] = [
  ['testAgent', testAgent, clerk],
  ['testProgram', testProgram, triage],
  ['durableTest of an agent', durableTest, clerk],
  ['durableTest of a program', durableTest, triage],
];

describe.each(TESTS)('%s', (_, run, tested) => {
  it.each([
    ['limitz', 'limits'],
    ['modle', 'model'],
    ['agnets', 'agents'],
    ['timeOut', 'timeout'],
  ])('refuses the option "%s" with the nearest name, "%s"', async (wrong, right) => {
    expect(await refusal(run, tested, { model, [wrong]: 1 })).toMatch(new RegExp(`unknown option "${wrong}".*Did you mean "${right}"`));
  });

  it('says what to write in place of its two arguments', async () => {
    expect(await refusal(run, tested)).toContain("the second argument is no object: write { input: 'Hello', model:");
    expect(await refusal(run, tested, [])).toContain('the second argument is no object');
    expect(await refusal(run, undefined, { model })).toContain('the first argument is not');
    expect(await refusal(run, { name: 'clerk' }, { model })).toContain('the first argument is not');
  });

  it.each(['agents', 'meanwhile', 'faults'])('refuses "%s" that is no list', async (option) => {
    for (const value of [{ a: 1 }, 'x', null, 7, model])
      expect(await refusal(run, tested, { model, [option]: value })).toMatch(new RegExp(`UsageError: .*"${option}" is .*: write a list`));
  });

  it('refuses a decision in place of a function that decides', async () => {
    expect(await refusal(run, tested, { model, decide: { type: 'approve' } })).toContain('write decide: () => approve()');
  });
});

test('a program is not tested as an agent, nor an agent as a program', async () => {
  expect(await refusal(testAgent, triage, { model })).toContain('A program is tested by testProgram');
  expect(await refusal(testProgram, clerk, { model })).toContain('An agent is tested by testAgent');
  expect(await refusal(testAgent, clerk, { model, anchors: [] })).toContain('unknown option "anchors"');
});
