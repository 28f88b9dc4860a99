import { expect, test } from 'vitest';
import { CONTRACTS } from '../../examples/programs/contracts.ts';
import { anchors, renewals } from '../../examples/programs/renewals.ts';
import { scriptedModel } from '../../examples/programs/scripted-model.ts';
import { checkProgram } from '../../src/core/program/check/check-program.ts';
import type { ModelResponse } from '../../src/index.ts';
import { approve, reject, testProgram } from '../../src/testing/index.ts';

test('the program of the demo is a document without problems and without warnings', () => {
  const { problems, warnings } = checkProgram(JSON.parse(JSON.stringify(renewals)));
  expect({ problems, warnings }).toEqual({ problems: [], warnings: [] });
});

test('each contract is read, one of them twice because its first answer cites nothing, and the letter is written until the reviewer accepts it', async () => {
  const drafts: unknown[] = [];
  const { result } = await testProgram(renewals, {
    input: { contracts: CONTRACTS },
    model: scriptedModel(),
    anchors,
    decide: ({ arguments: shown }) => {
      drafts.push(shown['output']);
      return drafts.length === 1 ? reject('Name the date on which the contract ends') : approve();
    },
  });
  expect(result.error).toBeNull();
  expect(result.output).toMatchObject({ cancel: { contract: 'Phone line', confidence: 0.95 }, letter: drafts[1] });
  const attempts = result.units.flatMap(({ steps }) => steps.map(({ name, attempts: count }) => [name, count]));
  expect(attempts).toEqual([
    ['Terms', 0],
    ['Choice', 2],
    ['Address', 1],
    ['Letter', 2],
  ]);
  expect(result.stepsUsed).toBe(8);
});

test('without a saving the letter is not written, and the result says why', async () => {
  const model = scriptedModel();
  const saving = { ...model, call: async (...call: Parameters<typeof model.call>) => withoutSaving(await model.call(...call)) };
  const { result } = await testProgram(renewals, { input: { contracts: CONTRACTS }, model: saving, anchors });
  expect(result).toMatchObject({ status: 'completed', output: { letter: null } });
  expect(result.units[2]).toMatchObject({ status: 'skipped', reason: 'the condition on "choose.Choice.savings" does not hold' });
});

function withoutSaving(response: ModelResponse): ModelResponse {
  return { ...response, content: response.content.replace('2280', '12') };
}
