import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import { expect } from 'vitest';
import type { Decision } from '../../../src/core/domain/approvals.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { type Event, isResponse, newEvent } from '../../../src/core/domain/record.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import type { StreamItem, StreamItemContent } from '../../../src/client/index.ts';
import { type EncodedTurn, TurnEncoder } from '../../../src/server/protocols/ai-sdk/turn-encoder.ts';
import type { FileUrl, UiChunk } from '../../../src/server/protocols/ai-sdk/ui-message.ts';

/** Makes an item of a stream; its cursor says which one it is. */
export function item(content: StreamItemContent, cursor = 'c'): StreamItem {
  return { ...content, cursor };
}

/** The event at an offset, as an item. */
export function recorded(offset: number, id: string, content: ContentItem[], more: Partial<Event> = {}): StreamItem & { type: 'event' } {
  const event = { ...newEvent({ id, now: 0 }, 'chat-1', 'clerk', content), ...more };
  return { type: 'event', offset, event, cursor: `event-${offset}` };
}

/** A message of the user. */
export function asks(offset: number, text: string): StreamItem & { type: 'event' } {
  return recorded(offset, `user-${offset}`, [{ type: 'message', role: 'user', content: text }], { author: 'user' });
}

const USAGE = { promptTokens: 2, completionTokens: 3, totalTokens: 5 };

/** A response of the model. */
export function says(offset: number, id: string, text: string, ...calls: ContentItem[]): StreamItem & { type: 'event' } {
  const message: ContentItem[] = text === '' ? [] : [{ type: 'message', role: 'assistant', content: text }];
  return recorded(offset, id, [...message, ...calls], { usage: USAGE });
}

export function call(toolCallId: string, args: JsonObject = {}, name = 'search'): ContentItem {
  return { type: 'tool_call', toolCallId, name, arguments: args };
}

export function result(toolCallId: string, content: JsonValue[], status: 'success' | 'error' = 'success'): ContentItem {
  return { type: 'tool_result', toolCallId, name: 'search', status, content };
}

export function decided(offset: number, decision: Partial<Decision> & Pick<Decision, 'type' | 'callId'>): StreamItem & { type: 'event' } {
  const whole: Decision = { id: 'd', toolName: 'refund', digest: 'x', by: 'ops', source: 'update', at: '', ...decision };
  return recorded(offset, `decision-${offset}`, [], { decision: whole });
}

/** The end of a turn. */
export function ended(offset: number, number = 1, note: Partial<NonNullable<Event['turn']>> = {}): StreamItem & { type: 'event' } {
  return recorded(offset, `end-${offset}`, [], { turn: { number, status: 'completed', stopReason: 'final_answer', ...note } });
}

/** A piece of the answer whose event will have that id. */
export function piece(eventId: string, delta: ModelDelta, attempt = 1): StreamItem {
  return item({ type: 'delta', step: 1, attempt, eventId, delta });
}

export function textPiece(eventId: string, text: string): StreamItem {
  return piece(eventId, { type: 'text', text });
}

/** The same items, of an agent with guardrails for its answers: its worker streams no part of them. */
export function guarded(items: readonly StreamItem[]): StreamItem[] {
  return items.flatMap((one): StreamItem[] => {
    if (one.type === 'delta') return [];
    return [one.type === 'event' && isResponse(one.event) ? { ...one, event: { ...one.event, guarded: true } } : one];
  });
}

/** Encodes the items of a turn, for a page of a service with this prefix. */
export function encoded(
  items: readonly StreamItem[],
  { prefix = '', ...turn }: Partial<EncodedTurn> & { prefix?: string } = {},
): UiChunk[] {
  const { sessionId = 'chat-1' } = turn;
  const fileUrl: FileUrl = ({ sha256 }) => `${prefix}/v1/runs/${encodeURIComponent(sessionId)}/files/${sha256}`;
  const encoder = new TurnEncoder({ sessionId, turn: 1, fileUrl, ...turn });
  return [encoder.begin(), ...items.flatMap((one) => [...encoder.take(one)])];
}

/** Returns the message that the AI SDK builds from chunks that fit its schema, and the errors that it reports. */
export async function built(
  chunks: readonly UiChunk[],
  message?: UIMessage,
): Promise<{ message: UIMessage | undefined; errors: string[] }> {
  for (const chunk of chunks) await expectFits(chunk);
  const errors: string[] = [];
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(structuredClone(chunk));
      controller.close();
    },
  });
  let last = message;
  const from = message === undefined ? {} : { message: structuredClone(message) };
  for await (const state of readUIMessageStream({ stream, ...from, onError: (error) => errors.push(String(error)) })) last = state;
  return { message: last, errors };
}

async function expectFits(chunk: UiChunk): Promise<void> {
  const schema = uiMessageChunkSchema();
  const read = await schema.validate?.(chunk);
  expect({ chunk, success: read?.success }).toEqual({ chunk, success: true });
}

/** Returns the parts of a message without members that are undefined. */
export function partsOf(message: UIMessage | undefined): unknown[] {
  return JSON.parse(JSON.stringify(message?.parts ?? [])) as unknown[];
}
