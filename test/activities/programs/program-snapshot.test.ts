import { expect, test } from 'vitest';
import { programSnapshot } from '../../../activities/programs/resolve-program.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { checkJson } from '../../../src/core/json-schema/check-json-schema.ts';
import { agent, ask, defineProgram, human, program, recall, remember, sleep, unit } from '../../../src/define/program/index.ts';

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

test('an approver edits the fields of a step that it takes from the edit, and no others', () => {
  const approval = { approval: true } as const;
  const { document } = defineProgram({
    name: 'approved',
    units: [
      unit('u', {}, [
        agent('Helper', 'helper', 'Go', { ...approval, limits: { steps: 3 } }),
        program('Check', 'fraud', { order: 1 }, approval),
        human('Who', 'Who?', { ...approval, deadline: '2d' }),
        sleep('Nap', '1h', approval),
        remember('Keep', 'key', 'value', approval),
        recall('Find', 'query', approval),
      ]),
    ],
  });
  const { tools } = programSnapshot(document, inputs);
  const problems = (name: string, edited: JsonValue): string[] =>
    checkJson(tools.find((tool) => tool.name === `u.${name}`)?.schema ?? {}, edited).map(({ path, message }) => `${path}: ${message}`);
  const cases: [name: string, fitting: JsonValue[], others: [edited: JsonValue, problem: string][]][] = [
    [
      'Helper',
      [{ input: 'Stop' }, { name: 'helper', input: 'Go', deps: { a: 1 }, limits: { steps: 3 } }],
      [
        [{ name: 'other' }, 'name: expected "helper", got "other"'],
        [{ limits: { steps: 9 } }, 'limits: expected {"steps":3}, got {"steps":9}'],
        [{ input: 5 }, 'input: expected string, got number'],
        [{ deps: 'a' }, 'deps: expected object, got string'],
      ],
    ],
    ['Check', [{ input: { order: 2 } }], [[{ name: 'other' }, 'name: expected "fraud", got "other"']]],
    ['Who', [{ question: 'Why?' }], [[{ deadline: '3d' }, 'deadline: expected "2d", got "3d"']]],
    ['Nap', [{ for: '2h' }, { for: 5_000 }], [[{ for: {} }, 'for: expected string or number, got object']]],
    ['Keep', [{ key: 'k', value: { a: 1 }, scope: 's' }], [[{ key: 1 }, 'key: expected string, got number']]],
    ['Find', [{ query: 'q', topK: 2, minScore: 0 }], [[{ topK: 'two' }, 'topK: expected integer, got string']]],
  ];
  for (const [name, fitting, others] of cases) {
    for (const edited of fitting) expect([name, problems(name, edited)]).toEqual([name, []]);
    for (const [edited, problem] of others) expect([name, problems(name, edited)]).toEqual([name, [problem]]);
  }
});
