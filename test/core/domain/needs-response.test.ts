import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ContentItem, needsResponse, type Role } from '../../../src/core/domain/content.ts';
import { anyItem } from './conversations.ts';

function said(role: Role): ContentItem {
  return { type: 'message', role, content: 'x' };
}

const call: ContentItem = { type: 'tool_call', toolCallId: 'c1', name: 't', arguments: {} };
const result: ContentItem = { type: 'tool_result', toolCallId: 'c1', name: 't', status: 'success', content: [] };

test.each<[string, ContentItem[], boolean]>([
  ['without any item', [], true],
  ['that ends with the user', [said('assistant'), said('user')], true],
  ['that ends with an answer', [said('user'), said('assistant')], false],
  ['that ends with calls', [said('user'), said('assistant'), call], true],
  ['that ends with a result', [said('assistant'), call, result], true],
  ['whose answer comes after a result', [call, result, said('assistant')], false],
  ['of system messages alone', [said('system')], true],
  ['with a system message after the user', [said('user'), said('system')], true],
  ['with a system message after an answer', [said('user'), said('assistant'), said('system')], false],
])('a conversation %s', (_, content, expected) => {
  expect(needsResponse(content)).toBe(expected);
});

test('it is a fold: each item that is no system message says it anew', () => {
  const after = (before: boolean, item: ContentItem): boolean => {
    if (item.type !== 'message') return true;
    return item.role === 'system' ? before : item.role === 'user';
  };
  fc.assert(
    fc.property(fc.array(anyItem), (content) => {
      expect(needsResponse(content)).toBe(content.reduce(after, true));
    }),
  );
});
