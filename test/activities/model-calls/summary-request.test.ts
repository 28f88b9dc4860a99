import { expect, test } from 'vitest';
import { summaryRequest } from '../../../activities/model-calls/summarise.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { WindowEvent } from '../../../src/core/domain/window.ts';

const BOUNDS = { tokens: 100_000, maxBytes: 32_000 };

function event(author: string, ...content: ContentItem[]): WindowEvent {
  return { offset: 1, id: 'e', author, content };
}

function said(text: string): WindowEvent {
  return event('user', { type: 'message', role: 'user', content: text });
}

function textOf(events: WindowEvent[], bounds = BOUNDS): string {
  const [first] = summaryRequest('p/m', events, bounds).conversation;
  const [item] = first?.content ?? [];
  return item?.type === 'message' && typeof item.content === 'string' ? item.content : '';
}

test('a conversation is quoted as text, so that the model sees no calls of tools that it lacks', () => {
  const events = [
    said('Find it'),
    event(
      'bot',
      { type: 'message', role: 'assistant', content: 'I look' },
      { type: 'tool_call', toolCallId: 'c1', name: 'find', arguments: { q: 1 } },
    ),
    event(
      'bot',
      { type: 'tool_result', toolCallId: 'c1', name: 'find', status: 'success', content: ['found', { at: 7 }] },
      { type: 'tool_result', toolCallId: 'c2', name: 'other', status: 'error', content: ['boom'] },
    ),
  ];
  expect(textOf(events)).toBe(
    'The conversation:\n\nuser: Find it\nbot: I look\nbot calls find({"q":1})\nfind returned: found\n{"at":7}\nother failed: boom\n\nSummarise it.',
  );
});

test('the request has no tools and no settings, and the name of the model without its provider', () => {
  expect(summaryRequest('gateway/vendor/small', [said('Q')], BOUNDS)).toMatchObject({ model: 'vendor/small', tools: [], settings: {} });
});

test('the model gets the number of words that the byte limit of the summary allows', () => {
  const told = (maxBytes: number): string => summaryRequest('p/m', [], { ...BOUNDS, maxBytes }).instructions.join('');
  expect(told(32_000)).toContain('At most 1000 words.');
  expect(told(4_000)).toContain('At most 500 words.');
  expect(told(10)).toContain('At most 20 words.');
});

test('a long item is cut, and the items after it are kept', () => {
  const text = textOf([said('x'.repeat(50_000)), said('the end')]);
  expect(text).toMatch(/x \[Cut: \d+ of 50000 bytes are missing\]\nuser: the end/);
  expect(text.length).toBeLessThan(21_000);
});

test('if all items together are too long, the longest are cut further, and the end is kept as long as possible', () => {
  const events = [...Array.from({ length: 40 }, () => said('x'.repeat(20_000))), said('the end')];
  const text = textOf(events, { ...BOUNDS, tokens: 20_000 });
  expect(text.length).toBeLessThan(60_000);
  expect(text).toContain('user: the end');
});

test('if cutting items is not enough, the request keeps the beginning of the conversation', () => {
  const text = textOf(
    Array.from({ length: 5_000 }, (_, index) => said(`message ${index}`)),
    { ...BOUNDS, tokens: 1_000 },
  );
  expect(text.length).toBeLessThan(3_200);
  expect(text).toContain('user: message 0\n');
  expect(text).toContain('bytes are missing]\n\nSummarise it.');
});
