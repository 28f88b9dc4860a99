import { describe, expect, test } from 'vitest';
import { BYTE_BUDGETS } from '../../../src/core/domain/byte-budgets.ts';
import { messageProblem } from '../../../src/core/wire-schemas/request-schemas.ts';

test.each([
  [{ id: 'm1', content: 'Hello' }],
  [{ id: 'm1', content: '' }],
  [
    {
      id: 'x'.repeat(64),
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image', url: 'https://example.com/a.png' },
      ],
    },
  ],
])('%j is a message', (value) => {
  expect(messageProblem(value)).toBeUndefined();
});

test.each([
  [undefined, 'expected {"id": "your own", "content": "text"}, got nothing'],
  [null, 'expected object, got null'],
  ['Hello', 'expected object, got string'],
  [{}, 'missing required field "id"; missing required field "content"'],
  [{ id: '', content: 'x' }, 'id: expected at least 1 character, got 0'],
  [{ id: 'x'.repeat(65), content: 'x' }, 'id: expected at most 64 characters, got 65'],
  [{ id: 7, content: 'x' }, 'id: expected string, got number'],
  [{ id: 'm1', content: [] }, 'content: expected at least 1 item, got 0'],
  [{ id: 'm1', content: 'x', mode: 'soon' }, 'mode: expected "queue", "steer" or "interrupt", got "soon"'],
  [{ id: 'm1', content: [{ type: 'image' }] }, 'content[0]: expected exactly one of "url" and "data", got neither'],
])('%j is refused, with the path', (value, message) => {
  expect(messageProblem(value)).toEqual({ code: 'invalid_input', message });
});

describe('a message at its budget', () => {
  const text = (bytes: number): string => `é${'x'.repeat(bytes - 4)}`;

  test.each([BYTE_BUDGETS.message - 1, BYTE_BUDGETS.message])('is accepted with %d bytes', (bytes) => {
    expect(messageProblem({ id: 'm1', content: text(bytes) })).toBeUndefined();
  });

  test('is refused with one byte more, with both sizes and the remedy', () => {
    expect(messageProblem({ id: 'm1', content: text(BYTE_BUDGETS.message + 1) })).toEqual({
      code: 'payload_too_large',
      message: '"content" is 100001 bytes of JSON, over 100000: pass large media by URL, or send it in parts',
    });
  });
});
