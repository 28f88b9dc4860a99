import type { ResponseOutputMessage } from 'openai/resources/responses/responses';
import type { ItemEvent } from './wire-event.ts';

/** The kind of a text: the words of the model, those in which it refused to answer, or its reasoning. */
export type TextKind = 'message' | 'refusal' | 'reasoning';

/** The events of the text of an item. */
interface TextEvents {
  begin: (at: ItemPlace) => ItemEvent;
  delta: (at: ItemPlace, delta: string) => ItemEvent;
  end: (at: ItemPlace, text: string) => ItemEvent[];
}

interface ItemPlace {
  item_id: string;
  output_index: number;
}

const IN_CONTENT = { content_index: 0 };
const IN_SUMMARY = { summary_index: 0 };

/** Makes the events of a text, by its kind. */
export const TEXT_EVENTS: Readonly<Record<TextKind, TextEvents>> = {
  message: {
    begin: (at) => ({ type: 'response.content_part.added', ...at, ...IN_CONTENT, part: messagePart('message', '') }),
    delta: (at, delta) => ({ type: 'response.output_text.delta', ...at, ...IN_CONTENT, delta, logprobs: [] }),
    end: (at, text) => [
      { type: 'response.output_text.done', ...at, ...IN_CONTENT, text, logprobs: [] },
      { type: 'response.content_part.done', ...at, ...IN_CONTENT, part: messagePart('message', text) },
    ],
  },
  refusal: {
    begin: (at) => ({ type: 'response.content_part.added', ...at, ...IN_CONTENT, part: messagePart('refusal', '') }),
    delta: (at, delta) => ({ type: 'response.refusal.delta', ...at, ...IN_CONTENT, delta }),
    end: (at, refusal) => [
      { type: 'response.refusal.done', ...at, ...IN_CONTENT, refusal },
      { type: 'response.content_part.done', ...at, ...IN_CONTENT, part: messagePart('refusal', refusal) },
    ],
  },
  reasoning: {
    begin: (at) => ({ type: 'response.reasoning_summary_part.added', ...at, ...IN_SUMMARY, part: { type: 'summary_text', text: '' } }),
    delta: (at, delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, ...IN_SUMMARY, delta }),
    end: (at, text) => [
      { type: 'response.reasoning_summary_text.done', ...at, ...IN_SUMMARY, text },
      { type: 'response.reasoning_summary_part.done', ...at, ...IN_SUMMARY, part: { type: 'summary_text', text } },
    ],
  },
};

/** Returns the part of a message that holds its text. */
export function messagePart(kind: 'message' | 'refusal', text: string): ResponseOutputMessage['content'][number] {
  return kind === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] };
}

/** Returns the id of an item of text, without a mark. */
export function textItemId(kind: TextKind, eventId: string): string {
  return kind === 'reasoning' ? `rs_${eventId}` : `msg_${eventId}`;
}
