import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { inboundProblem, readOrMark, unreadable } from '../../../../src/core/domain/json.ts';

/** So many nested lists, built without recursion. */
function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
}

function read(one: Payload): unknown {
  return readOrMark(one, () => defaultPayloadConverter.fromPayload(one));
}

function payload(encoding: string | undefined, text: string): Payload {
  return { ...(encoding === undefined ? {} : { metadata: { encoding: Buffer.from(encoding) } }), data: Buffer.from(text) };
}

describe('a payload', () => {
  test('that can be read gives its value and no problem', () => {
    expect(read(payload('json/plain', '{"a":[1]}'))).toEqual({ a: [1] });
    expect(inboundProblem(read(payload('binary/null', '')))).toBeUndefined();
  });

  test.each([
    [payload('json/plain', '{"a":'), 'the data of the payload is not JSON'],
    [payload('json/plain', ''), 'the data of the payload is not JSON'],
    [payload('text/x', ''), 'the encoding "text/x" of the payload is unknown'],
    [payload(undefined, '{}'), 'the payload does not name its encoding'],
    [{ metadata: {}, data: Buffer.from('{}') }, 'the payload does not name its encoding'],
    [payload('unreadable: it was changed', ''), 'it was changed'],
  ])('that cannot be read gives a value with the reason, in the same words on every release of Node: %#', (one, why) => {
    expect(read(one)).toEqual(unreadable(why));
    expect(inboundProblem(read(one))).toBe(`it cannot be read: ${why}`);
  });

  test('cannot make a refusal long, neither by the name of its encoding nor by its contents', () => {
    expect(inboundProblem(read(payload('x'.repeat(1_000_000), '')))).toHaveLength(
      `it cannot be read: the encoding "" of the payload is unknown`.length + 100,
    );
    expect(inboundProblem(unreadable('y'.repeat(1_000_000)))).toHaveLength('it cannot be read: '.length + 1_000);
  });
});

describe('a value from outside', () => {
  test('may be nested to a depth at which nothing overflows, and no deeper', () => {
    expect(inboundProblem(nested(128))).toBeUndefined();
    expect(inboundProblem(nested(129))).toContain('nested deeper than 64 levels');
    expect(inboundProblem(nested(500_000))).toContain('nested deeper than 64 levels');
  });

  test('that claims to be unreadable is refused with any reason', () => {
    expect(inboundProblem({ 'longhaul:unreadable': nested(500_000) })).toBe('it cannot be read: no reason is given');
  });
});
