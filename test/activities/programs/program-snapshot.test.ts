import { expect, test } from 'vitest';
import { programSnapshot } from '../../../activities/programs/resolve-program.ts';
import { ask, defineProgram, human, unit } from '../../../src/define/program/index.ts';

const inputs = {
  definitions: { agents: [], programs: [] },
  heartbeatMs: 5_000,
  searchAttributes: false,
  tool: () => undefined,
  childCheckMs: 1_000,
  prices: {},
};

test('what people decide about is pinned under one name each, also a question that needs an approval', () => {
  const { document } = defineProgram({
    name: 'asks',
    model: 'p/m',
    units: [
      unit('u', {}, [
        human('Who', 'Who?', { approval: true, review: true, output: { type: 'string', maxLength: 5 } }),
        ask('Draft', 'Draft it.', { approval: true }),
      ]),
    ],
  });
  const { tools } = programSnapshot(document, inputs);
  expect(tools.map(({ name, answer }) => [name, answer])).toEqual([
    ['u.Who', { type: 'string', maxLength: 5 }],
    ['u.Who.review', undefined],
    ['u.Draft', undefined],
  ]);
});
