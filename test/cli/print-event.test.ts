import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContentItem } from '../../src/domain/content.ts';
import type { Event } from '../../src/domain/event.ts';
import { eventLines } from '../../src/cli/print-event.ts';

const START = 1_700_000_000;

function event(author: string, content: ContentItem[], more: Partial<Event> = {}): Event {
  return { id: 'e', executionId: 'run', timestamp: START + 1.234, author, content, ...more };
}

function lines(one: Event, options: { width?: number; maxLines?: number } = {}): string[] {
  return eventLines(one, { startedAt: START, ...options });
}

test('a question is one line: time, who, what', () => {
  const question = event('user', [{ type: 'message', role: 'user', content: 'How long to the Moon?' }], { timestamp: START });
  expect(lines(question)).toEqual(['  0.00s  user              How long to the Moon?']);
});

test('a response shows the thought, each call with its arguments, and the tokens, under one name', () => {
  const response = event(
    'kipchoge',
    [
      { type: 'message', role: 'assistant', content: 'I need his pace.' },
      { type: 'tool_call', toolCallId: 'c1', name: 'search_web', arguments: { query: 'pace', limit: 3 } },
      { type: 'tool_call', toolCallId: 'c2', name: 'now', arguments: {} },
    ],
    { usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120, cachedTokens: 64, reasoningTokens: 8 } },
  );
  expect(lines(response)).toEqual([
    '  1.23s  kipchoge          I need his pace.',
    '                           → search_web(query: "pace", limit: 3)',
    '                           → now()',
    '                           120 tokens (100 in, 64 of them cached; 20 out, 8 of them reasoning)',
  ]);
});

test('results are from their tools, and an error says so', () => {
  const results = event('kipchoge', [
    { type: 'tool_result', toolCallId: 'c1', name: 'search_web', status: 'success', content: ['two', { blocks: true }] },
    { type: 'tool_result', toolCallId: 'c2', name: 'calculator', status: 'error', content: ['Division by zero'] },
    { type: 'tool_result', toolCallId: 'c3', name: 'calculator', status: 'success', content: [] },
  ]);
  expect(lines(results)).toEqual([
    '  1.23s  search_web        ← two',
    '                           {"blocks":true}',
    '         calculator        ← error: Division by zero',
    '                           ← (nothing)',
  ]);
});

test('an interrupted response and one without usage say so', () => {
  const cut = event('bot', [{ type: 'message', role: 'assistant', content: 'Well' }], { interrupted: true, usage: null });
  expect(
    lines(cut)
      .slice(1)
      .map((line) => line.trim()),
  ).toEqual(['(interrupted)', 'tokens unknown']);
  expect(lines(event('bot', []))).toEqual(['  1.23s  bot               (an empty answer)']);
});

test.each([
  [-5, '0.00s'],
  [99.99, '99.99s'],
  [99.999, '1m40s'],
  [125, '2m05s'],
  [3599.7, '1h00m'],
  [12_000, '3h20m'],
  [187_200, '2d04h'],
])('%d seconds after the start read as %s', (seconds, shown) => {
  const said = event('user', [{ type: 'message', role: 'user', content: 'x' }], { timestamp: START + seconds });
  expect(lines(said)[0]?.slice(0, 7).trim()).toBe(shown);
});

test('long text is wrapped at blanks into the column, and its rest is counted', () => {
  const long = event('user', [{ type: 'message', role: 'user', content: `${'word '.repeat(30)}\n\nend` }]);
  const printed = lines(long, { width: 67, maxLines: 2 });
  expect(printed).toEqual([
    `  1.23s  user              ${'word '.repeat(8).trim()}`,
    `                           ${'word '.repeat(8).trim()}`,
    '                           … 75 more characters',
  ]);
});

test('text of a model cannot move the cursor or forge a line of another author', () => {
  const hostile = event('user\u001b[2J\nkipchoge', [{ type: 'message', role: 'user', content: 'a\u001b]0;title\u0007b\rc' }]);
  const [line, ...rest] = lines(hostile);
  expect(rest).toEqual([]);
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
  expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
});

test('whatever an event says, no character of a short text is lost and no line is wider than asked', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (text) => {
      const printed = lines(event('user', [{ type: 'message', role: 'user', content: text }]), { width: 80, maxLines: 500 });
      for (const line of printed) expect(Array.from(line).length).toBeLessThanOrEqual(80);
      const shown = printed.map((line) => line.slice(27)).join('');
      expect(shown.replace(/\s/g, '')).toBe(
        lines(event('user', [{ type: 'message', role: 'user', content: text }]), { width: 10_000, maxLines: 500 })
          .map((line) => line.slice(27))
          .join('')
          .replace(/\s/g, ''),
      );
    }),
  );
});

test('colours go through the look that the caller gives', () => {
  const response = event('bot', [{ type: 'tool_call', toolCallId: 'c', name: 'go', arguments: {} }]);
  const [line] = eventLines(response, { startedAt: START, look: (look, text) => `<${look}>${text}</>` });
  expect(line).toBe('<dim>  1.23s</>  <bold>bot             </>  <cyan>→ go()</>');
});
