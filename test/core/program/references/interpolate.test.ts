import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { interpolate, type Lookup, outputAt, parseTemplate, resolveValue } from '../../../../src/core/program/references.ts';

/** Looks the outputs of steps up by name. */
function lookupIn(outputs: JsonObject): Lookup {
  return ({ path: [step, ...rest] }) => (Object.hasOwn(outputs, step) ? outputAt(outputs[step] ?? null, rest) : { found: false });
}

const OUTPUTS = {
  Extract: 'E1',
  Kind: { kind: 'refund', score: 0.9, tags: ['a', 'b'], output: 'inner', list: [{ name: 'x' }] },
  Skipped: null,
  Count: 3,
  Yes: true,
  Braces: '{{Extract}}',
};

function text(template: string, lenient?: boolean): unknown {
  const resolved = interpolate(template, lookupIn(OUTPUTS), { lenient });
  return resolved.ok ? resolved.value : resolved.problem;
}

describe('a template', () => {
  test.each([
    ['Sum up {{Extract}}.', 'Sum up E1.'],
    ['{{ Extract }} {{Extract.output}} {{ Extract.output }}', 'E1 E1 E1'],
    ['{{Kind.kind}} {{Kind.output.kind}}', 'refund refund'],
    ['{{Kind.tags[1]}} {{Kind.output.list[0].name}}', 'b x'],
    ['{{Kind["kind"]}}', 'refund'],
    ['{{Kind.tags}}', '["a","b"]'],
    ['{{Kind.list[0]}}', '{"name":"x"}'],
    ['{{Count}} {{Yes}} {{Skipped}}', '3 true null'],
    ['{{Skipped.any[0].part}}', 'null'],
    ['no reference', 'no reference'],
    ['', ''],
  ])('inserts values: %s', (template, expected) => {
    expect(text(template)).toBe(expected);
  });

  test('reads the name "output" after a step as the output, and once only', () => {
    expect(text('{{Kind.output.output}}')).toBe('inner');
    expect(text('{{Kind.output}}')).toBe(JSON.stringify(OUTPUTS.Kind));
  });

  test('keeps the braces of an inserted value', () => {
    expect(text('{{Braces}} {{Extract}}')).toBe('{{Extract}} E1');
  });

  test.each([
    '{{}}',
    '{{ }}',
    '{{a..b}}',
    '{{.a}}',
    '{{a.}}',
    '{{a[x]}}',
    '{{a[-1]}}',
    '{{a[0}}',
    '{{a b',
    '{ {Extract}}',
    '{{a\nb}}',
    '{{"Extract"}}',
  ])('keeps anything that is not a reference as text: %s', (template) => {
    expect(text(template)).toBe(template);
  });

  test('takes the innermost of several braces', () => {
    expect(text('{{{Extract}}} {{{{Extract}}}}')).toBe('{E1} {{E1}}');
    expect(text('{"a": {"b": "{{Extract}}"}}')).toBe('{"a": {"b": "E1"}}');
  });

  test('keeps an unknown reference as written if it is lenient', () => {
    expect(text('{{ Missing.output }} and {{Extract}}', true)).toBe('{{ Missing.output }} and E1');
  });

  test('names the reference that leads to no value', () => {
    expect(text('{{Extract}} {{ Kind.scor }}')).toBe('the reference "{{ Kind.scor }}" leads to no value');
  });

  test.each([
    'Extracts',
    'extract',
    'Extract.length',
    'Kind.tags.length',
    'Kind.tags[2]',
    'Kind[0]',
    'Kind.constructor',
    'Kind.__proto__',
    '__proto__',
    'constructor',
  ])('finds exact names and own keys alone: %s', (name) => {
    expect(text(`{{${name}}}`, true)).toBe(`{{${name}}}`);
  });

  test('refuses to insert a long value without end', () => {
    const long = 'x'.repeat(1_000_000);
    const resolved = interpolate('{{Long}}'.repeat(40_000), lookupIn({ Long: long }));
    expect(resolved).toEqual({
      ok: false,
      reference: '{{Long}}',
      problem: 'the references up to "{{Long}}" insert more than 4000000 characters',
    });
  });

  test('is read in time proportional to its length', () => {
    const hostile = ['{', '{{', '{{a', '{{a["', '{{a["\\', '{{ ', '{{a.', '{{a[0]', '{{a"', '{{}}'].map((piece) =>
      piece.repeat(Math.ceil(100_000 / piece.length)),
    );
    for (const template of [...hostile, `{{${'a'.repeat(100_000)}}}`, `{{a${' '.repeat(100_000)}}}`, `{{a["${'\\'.repeat(100_000)}"]}}`]) {
      expect(parseTemplate(template)).toEqual([template]);
    }
  });

  test('without references is unchanged, and with them loses nothing around them', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('{{', '}}', '{{Extract}}', '"', '[', '.'))), (pieces) => {
        const template = pieces.join('');
        const parts = parseTemplate(template);
        expect(parts.map((part) => (typeof part === 'string' ? part : part.written)).join('')).toBe(template);
      }),
      { seed: 16 },
    );
  });
});

describe('a value with references', () => {
  function value(template: JsonValue): unknown {
    const resolved = resolveValue(template, lookupIn(OUTPUTS));
    return resolved.ok ? resolved.value : resolved.reference;
  }

  test('keeps the type of a whole reference', () => {
    expect(value('{{Count}}')).toBe(3);
    expect(value('{{ Kind.tags }}')).toEqual(['a', 'b']);
    expect(value('{{Skipped}}')).toBeNull();
  });

  test('makes a text of a reference with anything around it', () => {
    expect(value('{{Count}} ')).toBe('3 ');
    expect(value('{{Count}}{{Count}}')).toBe('33');
  });

  test('is resolved in lists and objects, and keeps its keys', () => {
    expect(value({ a: ['{{Count}}', 1, null], '{{Count}}': { b: 'no {{Count}}' } })).toEqual({
      a: [3, 1, null],
      '{{Count}}': { b: 'no 3' },
    });
  });

  test('keeps keys that objects inherit elsewhere', () => {
    const given = JSON.parse('{"__proto__": "{{Count}}"}') as JsonObject;
    expect(JSON.stringify(value(given))).toBe('{"__proto__":3}');
  });

  test('names a reference inside that leads to no value', () => {
    expect(value({ a: [{ b: '{{Gone}}' }] })).toBe('{{Gone}}');
  });
});
