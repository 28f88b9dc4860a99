import { expect, it } from 'vitest';
import { compilerOutput } from './compiler-output.ts';

/** A page and its routes, with the functions of the AI SDK that take messages and chunks. */
const PAGE = `
import { Chat } from '@ai-sdk/react';
import { convertToModelMessages, createUIMessageStreamResponse, validateUIMessages, type UIMessage } from 'ai';
import { toUIMessages, toUIMessageStream, type ChatMetadata, type ChatTarget, type UiCall, type UiPart } from 'longhaul/ai-sdk';
import type { SessionHandle } from 'longhaul/client';

export async function earlier(session: SessionHandle): Promise<UIMessage[]> {
  const { messages } = await toUIMessages(session);
  const typed: UIMessage<ChatMetadata>[] = messages;
  void [new Chat({ messages }), await validateUIMessages({ messages }), await convertToModelMessages(messages)];
  return typed.concat(messages);
}

export async function answer(chat: ChatTarget): Promise<Response> {
  const stream = await toUIMessageStream(chat);
  return stream === undefined ? new Response(null, { status: 204 }) : createUIMessageStreamResponse({ stream });
}

export function shown(part: UiPart): string | undefined {
  if (part.type === 'text') return part.text;
  if (!('toolCallId' in part)) return undefined;
  switch (part.state) {
    case 'approval-requested':
      return part.approval.id;
    case 'output-error':
      return part.errorText;
    case 'output-denied':
      return part.approval.reason;
    default:
      return JSON.stringify(part.output);
  }
}

// @ts-expect-error -- a call with an error has its text
export const wrong: UiCall = { type: 'tool-t', toolCallId: 'c1', state: 'output-error', input: {} };
`;

it.each([true, false])(
  'earlier messages and streams are those of the package "ai", with exactOptionalPropertyTypes %s',
  async (exact) => {
    expect(await compilerOutput({ [`page-${exact}.ts`]: PAGE }, { exactOptionalPropertyTypes: exact })).toBe('');
  },
  60_000,
);
