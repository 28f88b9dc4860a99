import { expect, test } from 'vitest';
import { programSnapshot } from '../../../activities/programs/resolve-program.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { checkJson } from '../../../src/core/json-schema/check-json-schema.ts';
import { agent, ask, defineProgram, human, unit } from '../../../src/define/program/index.ts';

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
    ['u.Who.review', { type: 'string', maxLength: 5 }],
    ['u.Draft', { type: 'string' }],
  ]);
});

test('a person who reviews an output edits it, or replaces it, with a value of the type of the output', () => {
  const list = { type: 'array', items: { $ref: '#/$defs/name' }, $defs: { name: { type: 'string' } } };
  const { document } = defineProgram({
    name: 'reviewed',
    model: 'p/m',
    units: [
      unit('u', {}, [
        ask('Letter', 'Write.', { review: true }),
        ask('Names', 'List.', { output: list, review: true }),
        human('Who', 'Who?', { review: true }),
        agent('Helper', 'helper', 'Go', { review: true }),
        ask('Draft', 'Draft it.', { approval: true }),
      ]),
    ],
  });
  const { tools } = programSnapshot(document, inputs);
  const accepts = (name: string, field: 'schema' | 'answer', value: JsonValue): boolean =>
    checkJson(tools.find((tool) => tool.name === name)?.[field] ?? {}, value).length === 0;
  const cases: [name: string, fitting: JsonValue, other: JsonValue][] = [
    ['u.Letter.review', 'Dear Ann', { a: 1 }],
    ['u.Names.review', ['Ann'], [1]],
    ['u.Who.review', 'Ann', ['Ann']],
  ];
  for (const [name, fitting, other] of cases) {
    const edits: JsonValue[] = [{ output: fitting }, { output: other }, {}];
    expect(edits.map((edited) => accepts(name, 'schema', edited))).toEqual([true, false, false]);
    expect([accepts(name, 'answer', fitting), accepts(name, 'answer', other)]).toEqual([true, false]);
  }
  // What an agent answers is not in the document.
  for (const output of ['text', { a: 1 }]) expect(accepts('u.Helper.review', 'schema', { output })).toBe(true);
  expect([accepts('u.Draft', 'schema', { prompt: 'Write.' }), accepts('u.Draft', 'schema', { prompt: { a: 1 } })]).toEqual([true, false]);
  expect([accepts('u.Draft', 'answer', 'Dear Ann'), accepts('u.Draft', 'answer', 5)]).toEqual([true, false]);
});
