import { expect, test } from 'vitest';
import type { Source } from '../../../src/core/domain/content.ts';
import { MessageBuilder } from '../../../src/server/protocols/ai-sdk/ui-message.ts';
import { built, call, encoded, ended, guarded, partsOf, piece, recorded, result, textPiece } from './recorded-turn.ts';

const SOURCES: Source[] = [
  { url: 'https://moon.test/', title: 'Moon', start: 0, end: 3 },
  { url: 'https://moon.test/', title: 'Moon', start: 4, end: 8 },
  { filename: 'n.pdf', mediaType: 'application/pdf' },
];
const PARTS = [
  { type: 'source-url', sourceId: 'e2-source-1', url: 'https://moon.test/', title: 'Moon' },
  { type: 'source-document', sourceId: 'e2-source-3', mediaType: 'application/pdf', title: 'n.pdf', filename: 'n.pdf' },
];
const answer = (offset: number) =>
  recorded(offset, 'e2', [{ type: 'message', role: 'assistant', content: 'Far away' }], { usage: null, sources: SOURCES });

test('the sources of an answer are parts of the message, each page once, however it was streamed', async () => {
  const calls = recorded(0, 'e1', [call('c1')], { usage: null, sources: [{ url: 'https://first.test/' }] });
  const found = recorded(1, 'r1', [result('c1', ['found'])]);
  const begun = piece('e1', { type: 'tool_input', callId: 'c1', toolName: 'search', text: '{}' });
  const whole = [calls, found, answer(2), ended(3)];
  const [plain, streamed] = [encoded(whole), encoded([begun, calls, found, textPiece('e2', 'Far '), answer(2), ended(3)])];
  const { message } = await built(plain);
  expect(partsOf(message).slice(-3)).toEqual([{ type: 'text', text: 'Far away', state: 'done' }, ...PARTS]);
  expect(partsOf(message)).toContainEqual({ type: 'source-url', sourceId: 'e1-source-1', url: 'https://first.test/' });
  expect(partsOf((await built(streamed)).message)).toEqual(partsOf(message));
  const builder = new MessageBuilder();
  for (const chunk of plain) builder.take(chunk);
  expect(builder.message()?.parts.slice(-2)).toEqual(PARTS);
});

test('the sources of an answer that no guardrail has passed are not shown', () => {
  const blocked = recorded(1, 'b', [], { guardrails: { findings: [], blocked: [0] } });
  const ends = ended(2, 1, { status: 'error', stopReason: 'guardrail' });
  expect(encoded(guarded([answer(0), blocked, ends])).filter(({ type }) => type.startsWith('source'))).toEqual([]);
});
