import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
import { ask, FULL, problemsOf, withSteps, withUnits } from './programs.ts';

describe('values that are not programs', () => {
  test('have a problem, regardless of their type', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const throwing = {
      get units(): never {
        throw new Error('no');
      },
    };
    const proxy = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no');
        },
      },
    );
    const values = [
      1n,
      Symbol('s'),
      () => 1,
      Number.NaN,
      new Map(),
      new Date(0),
      cycle,
      throwing,
      proxy,
      { toJSON: () => 1 },
      Object.create(null),
      new Uint8Array(3),
    ];
    for (const value of values) expect(problemsOf(value)).not.toEqual([]);
  });

  test('have a problem if they are nested deeply', () => {
    let list: JsonValue = [];
    for (let level = 0; level < 100_000; level += 1) list = [list];
    expect(problemsOf({ units: list })).toEqual([': the document is nested deeper than 112 levels']);
    expect(problemsOf(list)).toEqual([': the document is nested deeper than 112 levels']);
  });

  test('are checked where keys are properties that every object has', () => {
    const document = JSON.parse(
      '{"version":1,"name":"constructor","units":[{"name":"__proto__","steps":[{"name":"toString","ask":{"prompt":"{{constructor.x}} {{__proto__}}"},"hasOwnProperty":1}]}],"__proto__":{}}',
    ) as unknown;
    expect(problemsOf(document)).toEqual([
      ': unknown field "__proto__"',
      'units[0].steps[0]: unknown field "hasOwnProperty"',
      'units[0].steps[0].ask: there is no model: write "model" here or at the program',
      'units[0].steps[0].ask.prompt: "{{constructor.x}}": nothing is named "constructor" here',
      'units[0].steps[0].ask.prompt: "{{__proto__}}" is a unit: name one of its steps',
    ]);
  });
});

describe('large documents', () => {
  test('have at most a hundred problems and their number', () => {
    const { problems } = checkProgram(withSteps(ask('A', '{{x}}'.repeat(50_000))));
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toEqual({ path: '', message: 'and 49900 more problems' });
  });

  const long = (index: number): string => `${'n'.repeat(90)}${index}`;
  const names = Array.from({ length: 990 }, (_, index) => long(index));
  test.each<[string, JsonObject]>([
    ['long names and misspelt references', withSteps(...names.map((name) => ask(name, `{{x${name}}}`)))],
    [
      'units that all need all before them',
      withUnits(
        ...names.slice(0, 400).map((_, index) => ({
          name: `u${index}`,
          needs: names.slice(0, Math.min(index, 200)).map((_name, other) => `u${other}`),
          steps: [ask('A', `{{u${index - 1}.A}}`)],
        })),
      ),
    ],
    [
      'one row of needs',
      withUnits(...names.map((_, index) => ({ name: `u${index}`, needs: [`u${(index + 1) % 990}`], steps: [ask('A')] }))),
    ],
    ['empty branches', withSteps({ name: 'P', parallel: { branches: Array.from({ length: 100_000 }, () => []) } })],
    [
      'cases without steps',
      withSteps(
        { name: 'P', branch: { cases: Array.from({ length: 6_000 }, () => ({ when: { of: 'x.y', is: {} }, steps: [] })) } },
        ask('B', '{{P}} {{A}}'),
      ),
    ],
    ['unknown fields', withSteps({ ...ask('A'), ...Object.fromEntries(names.map((name) => [name, name])) })],
    [
      'schemas that refer to themselves',
      withSteps(
        ...Array.from({ length: 900 }, (_, index) =>
          ask(`S${index}`, 'Go.', { output: { $ref: '#', anyOf: [{ $ref: '#' }, { $ref: '#' }] } }),
        ),
      ),
    ],
    [
      'fallbacks in one row',
      withSteps(...names.map((_, index) => ({ ...ask(`S${index}`), refine: { onExhaustion: 'fallback', fallback: `S${index + 1}` } }))),
    ],
  ])('are checked in time that the document bounds: %s', (_name, document) => {
    const { problems, warnings } = checkProgram(document, { tools: [], anchors: [], providers: ['scripted'] });
    expect(problems.length + warnings.length).toBeLessThanOrEqual(202);
  });
});

/** Replaces, removes or copies one part of a document. */
function mutated(document: JsonValue, where: number, change: number): JsonValue {
  const copy = structuredClone(document);
  const places: { parent: JsonValue[] | JsonObject; key: string | number }[] = [];
  const collect = (value: JsonValue): void => {
    if (Array.isArray(value)) for (const [key] of value.entries()) places.push({ parent: value, key });
    else if (isJsonObject(value)) for (const key of Object.keys(value)) places.push({ parent: value, key });
    if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) collect(member);
  };
  collect(copy);
  const place = places[where % places.length];
  const other = places[(where * 7 + change) % places.length];
  if (place === undefined || other === undefined) return copy;
  const parent = place.parent as JsonObject;
  const values: JsonValue[] = [null, 0, -1, '', 'x', '{{x}}', '{{input', [], {}, true, [[]], { name: 'A' }, '__proto__', 1e9];
  if (change % 5 === 0) delete parent[place.key];
  else if (change % 5 === 1) parent[place.key] = structuredClone((other.parent as JsonObject)[other.key] ?? null);
  else if (change % 5 === 2 && !Array.isArray(place.parent)) parent[`${place.key}s`] = parent[place.key] ?? null;
  else parent[place.key] = values[change % values.length] ?? null;
  return JSON.parse(JSON.stringify(copy)) as JsonValue;
}

test('a mutated program has problems with a path, or is accepted', () => {
  const places = fc.array(fc.tuple(fc.nat({ max: 1_000 }), fc.nat({ max: 1_000 })), { minLength: 1, maxLength: 4 });
  let accepted = 0;
  fc.assert(
    fc.property(places, (changes) => {
      const document = changes.reduce<JsonValue>((value, [where, change]) => mutated(value, where, change), FULL);
      const { problems, document: program } = checkProgram(document, { tools: [], hasMemory: false });
      for (const { path, message } of problems) {
        expect(path).toMatch(/^[a-z]|^$/);
        expect(message).not.toBe('');
      }
      expect(program === undefined).toBe(problems.length > 0);
      accepted += checkProgram(document).problems.length === 0 ? 1 : 0;
    }),
    { seed: 16, numRuns: 1_000 },
  );
  expect(accepted).toBeGreaterThan(20);
});
