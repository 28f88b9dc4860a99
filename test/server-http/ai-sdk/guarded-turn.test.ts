import type { UIMessage } from 'ai';
import { describe, expect, it, test } from 'vitest';
import type { GuardrailNote } from '../../../src/core/domain/guardrails.ts';
import type { StreamItem } from '../../../src/client/index.ts';
import type { EncodedTurn } from '../../../src/server/protocols/ai-sdk/turn-encoder.ts';
import type { UiChunk } from '../../../src/server/protocols/ai-sdk/ui-message.ts';
import { FakeChat, fetchFrom, pageOf, serviceOf, textOf } from './fake-chat.ts';
import { asks, built, call, encoded, ended, guarded, partsOf, piece, recorded, result, says, textPiece } from './recorded-turn.ts';

const BLOCKED = { type: 'text', text: 'Response blocked: off topic', state: 'done' };

/** The checks that have blocked the events at these offsets. */
function blocks(offset: number, blocked: number[], type: 'input' | 'output' = 'output'): StreamItem & { type: 'event' } {
  const guardrails: GuardrailNote = { findings: [{ name: 'topic', type, outcome: 'tripped', message: 'off topic' }], blocked };
  return recorded(offset, `check-${offset}`, [], { guardrails });
}

const tripped = (offset: number): StreamItem => ended(offset, 1, { status: 'error', stopReason: 'guardrail', error: 'off topic' });

/** A response whose model call was given up. */
function interrupted(offset: number, id: string, text: string): StreamItem {
  return recorded(offset, id, [{ type: 'message', role: 'assistant', content: text }], { usage: null, interrupted: true });
}

/** The texts of sent chunks, including discarded ones. */
function textsOf(chunks: readonly UiChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');
}

async function shown(items: readonly StreamItem[], turn: Partial<EncodedTurn> = {}): Promise<unknown[]> {
  const { message, errors } = await built(encoded(items, turn));
  expect(errors).toEqual([]);
  return partsOf(message).filter((part) => (part as { type: string }).type !== 'step-start');
}

describe('the answer of an agent with guardrails for it', () => {
  const streamed = [asks(0, 'Hi'), textPiece('e1', 'The sec'), textPiece('e1', 'ret'), says(1, 'e1', 'The secret')];

  it('is shown once the turn has ended with it, and no text before', async () => {
    expect(textsOf(encoded(guarded(streamed)))).toBe('');
    expect(encoded(guarded([...streamed, ended(2)]))).toEqual(encoded([asks(0, 'Hi'), says(1, 'e1', 'The secret'), ended(2)]));
  });

  it('is never shown if it is blocked: the turn ends with the words of the guardrail', async () => {
    const items = [piece('e1', { type: 'reasoning', text: 'The secret?' }), ...streamed, blocks(2, [1]), tripped(3)];
    const chunks = encoded(guarded(items));
    expect(textsOf(chunks)).toBe('Response blocked: off topic');
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'content-filter' });
    expect(await shown(guarded(items))).toEqual([BLOCKED]);
  });

  it('is held back with the results of the call that gives it', async () => {
    const given = [asks(0, 'Hi'), says(1, 'e1', '', call('f', { total: 42 }, 'final_answer')), recorded(2, 'r', [result('f', ['ok'])])];
    expect(JSON.stringify(encoded(guarded(given)))).not.toContain('42');
    expect(await shown(guarded([...given, blocks(3, [1, 2]), tripped(4)]))).toEqual([BLOCKED]);
    expect(await shown(guarded([...given, ended(3)]))).toMatchObject([{ type: 'tool-final_answer', state: 'output-available' }]);
  });

  it('is not shown in part or whole if the user stops the turn before the guardrails have passed it', async () => {
    const stopped = { status: 'cancelled', stopReason: 'cancelled' } as const;
    expect(await shown(guarded([...streamed, ended(2, 1, stopped)]))).toEqual([]);
    expect(await shown(guarded([asks(0, 'Hi'), textPiece('e1', 'The s'), interrupted(1, 'e1', 'The s'), ended(2, 1, stopped)]))).toEqual(
      [],
    );
  });

  it('does not count as the answer if the turn continues, and is shown then, as is a text with calls', async () => {
    const calls = says(3, 'e2', 'I look', call('c1'));
    expect(textsOf(encoded(guarded([...streamed, asks(2, 'And more'), piece('e2', { type: 'text', text: 'I' }), calls])))).toBe(
      'The secretI look',
    );
  });

  it('continues in the message of a client that has decided', async () => {
    const items = [asks(0, 'Hi'), says(1, 'e1', 'I look', call('c1')), recorded(2, 'r', [result('c1', ['found'])]), says(3, 'e2', 'It is')];
    const { message } = await built(encoded(guarded(items.slice(0, 2))));
    const behind = encoded(guarded([...items, blocks(4, [3]), tripped(5)]), { after: 1 });
    const parts = partsOf((await built(behind, message)).message);
    expect(parts.map((part) => (part as { type: string }).type)).toEqual(['step-start', 'text', 'tool-search', 'step-start', 'text']);
    expect(parts.at(-1)).toEqual(BLOCKED);
  });
});

describe('output that a guardrail blocks, but that was not held back', () => {
  const request = { ...BLOCKED, text: 'Request blocked: off topic' };

  it('is discarded', async () => {
    const items = [asks(0, 'Hi'), textPiece('e1', 'The sec'), says(1, 'e1', 'The secret'), blocks(2, [1]), tripped(3)];
    expect(await shown(items)).toEqual([BLOCKED]);
  });

  it('is discarded if the request is blocked after the model has begun to answer', async () => {
    const live = [asks(0, 'Hi'), textPiece('e1', 'The sec')];
    expect(await shown([...live, interrupted(1, 'e1', 'The sec'), blocks(2, [0, 1], 'input'), tripped(3)])).toEqual([request]);
    expect(await shown([...live, blocks(1, [0], 'input'), tripped(2)])).toEqual([request]);
  });

  it('does not become an earlier step of the turn', async () => {
    const items = [asks(0, 'Hi'), says(1, 'e1', 'One'), asks(2, 'More'), blocks(3, [2], 'input'), tripped(4)];
    expect(await shown(items)).toMatchObject([{ text: 'One' }, request]);
  });
});

test('a page shows no guarded answer that is blocked, and is sent no part of it, by a service that does not know the agent', async () => {
  const session = new FakeChat();
  session.onRequest = () => {
    session.beginTurn();
    session.publish(...guarded([asks(0, 'Hi'), says(1, 'e1', 'The secret')]));
  };
  const handler = serviceOf(session);
  const get = fetchFrom(handler);
  const body = JSON.stringify({ id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
  const sent = await get('/v1/agents/clerk/chat', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const followed = await get('/v1/agents/clerk/chat/c1/stream');
  const texts = [sent, followed].map(async (response) => response.text());
  const page = pageOf(handler);
  const resuming = page.resumeStream();
  await expect.poll(() => session.open).toBe(3);
  session.publish(blocks(2, [1]), tripped(3));
  await resuming;
  for (const text of await Promise.all(texts)) expect(text).not.toContain('The secret');
  const loaded = (await (await get('/v1/agents/clerk/chat/c1')).json()) as { messages: UIMessage[] };
  expect([page, loaded].map(textOf)).toEqual([BLOCKED.text, BLOCKED.text]);
});
