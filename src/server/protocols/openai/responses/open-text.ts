import type { ResponseOutputMessage, ResponseReasoningItem } from 'openai/resources/responses/responses';
import { FIRST_UNIT, MOST_TEXT_UNITS, type SequencePlace } from './sequence.ts';
import { Tag, tagOf, unmarked } from './tag.ts';
import { messagePart, TEXT_EVENTS, textItemId, type TextKind } from './text-kinds.ts';
import type { ItemEvent } from './wire-event.ts';

/** An event of a part, with its unit. A piece of text may be cut: it covers the units behind `from`. */
export interface Piece extends Pick<SequencePlace, 'unit' | 'tag'> {
  event: ItemEvent;
  text?: { from: number; cut: (units: number) => ItemEvent };
}

/** The state in which an item of text is left. */
export interface Closing {
  status: 'completed' | 'incomplete';
  phase?: 'commentary' | 'final_answer';
}

/** The unit behind which the text of an item begins. */
const TEXT_UNIT = FIRST_UNIT + 1;

/** An item of text whose end has not come: a message, or the reasoning before it. It makes the events of the item. */
export class OpenText {
  readonly kind: TextKind;
  readonly id: string;
  readonly index: number;
  /** The event that will hold the text. */
  readonly eventId: string;
  readonly #tag: Tag;
  #text = '';

  /** `isMarked`: another item of the reader has the id already. */
  constructor({ kind, index, eventId, isMarked }: Pick<OpenText, 'kind' | 'index' | 'eventId'> & { isMarked: boolean }) {
    const id = textItemId(kind, eventId);
    this.kind = kind;
    this.id = isMarked ? `${id}_2` : id;
    this.index = index;
    this.eventId = eventId;
    this.#tag = new Tag(id, isMarked);
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }

  /** Begins the item. */
  begin(): Piece[] {
    const added = { type: 'response.output_item.added', output_index: this.index, item: this.#item('in_progress') } as const;
    const tag = this.#tag.value;
    return [
      { unit: FIRST_UNIT, tag, event: added },
      { unit: TEXT_UNIT, tag, event: TEXT_EVENTS[this.kind].begin(this.#place) },
    ];
  }

  /** Adds text that has arrived before its event. Text that is too long to be numbered waits for the event. */
  addLive(text: string): Piece[] {
    return this.add(text.slice(0, Math.max(0, MOST_TEXT_UNITS - this.#text.length)));
  }

  /** Adds text. */
  add(text: string): Piece[] {
    if (text === '') return [];
    const from = TEXT_UNIT + this.#text.length;
    this.#text += text;
    this.#tag.add(text);
    return [
      {
        unit: this.#textEnd(),
        tag: this.#tag.value,
        event: this.#delta(text),
        text: { from, cut: (units) => this.#delta(text.slice(units)) },
      },
    ];
  }

  /** Ends the item. */
  end(closing: Closing): Piece[] {
    const done = {
      type: 'response.output_item.done',
      output_index: this.index,
      item: this.#item(closing.status, closing.phase),
    } as const;
    const events: ItemEvent[] = [...TEXT_EVENTS[this.kind].end(this.#place, this.#text), done];
    return events.map((event, number) => ({ unit: this.#textEnd() + 1 + number, tag: this.#tag.value, event }));
  }

  /** Returns the message with its whole text, under the id that it has in every process. `phase` is absent as long as it is not known. */
  message({ status, phase }: Closing): ResponseOutputMessage {
    const id = textItemId(this.kind, this.eventId);
    return this.#messageItem(id, this.#text, { status, ...(phase === undefined ? {} : { phase }) });
  }

  get #place(): { item_id: string; output_index: number } {
    return { item_id: this.id, output_index: this.index };
  }

  #textEnd(): number {
    return TEXT_UNIT + Math.min(this.#text.length, MOST_TEXT_UNITS + 1);
  }

  #delta(delta: string): ItemEvent {
    return TEXT_EVENTS[this.kind].delta(this.#place, delta);
  }

  #item(status: 'in_progress' | Closing['status'], phase?: Closing['phase']): ResponseOutputMessage | ResponseReasoningItem {
    const text = status === 'in_progress' ? undefined : this.#text;
    if (this.kind !== 'reasoning') return this.#messageItem(this.id, text, { status, ...(phase === undefined ? {} : { phase }) });
    return { id: this.id, type: 'reasoning', status, summary: text === undefined ? [] : [{ type: 'summary_text', text }] };
  }

  #messageItem(
    id: string,
    text: string | undefined,
    { status, phase }: { status: ResponseOutputMessage['status']; phase?: Closing['phase'] },
  ): ResponseOutputMessage {
    const kind = this.kind === 'refusal' ? 'refusal' : 'message';
    return {
      id,
      type: 'message',
      role: 'assistant',
      status,
      content: text === undefined ? [] : [messagePart(kind, text)],
      ...(phase === undefined ? {} : { phase }),
    };
  }
}

type Words = Pick<OpenText, 'kind' | 'eventId' | 'text'>;

/**
 * Tells if an item with this text is the one that a reader has got up to a place: `unknown` as long as the text does not reach that far.
 */
export function isSameText({ kind, eventId, text }: Words, { unit, tag }: SequencePlace): boolean | 'unknown' {
  const got = Math.max(0, unit - TEXT_UNIT);
  if (got <= Math.min(text.length, MOST_TEXT_UNITS)) return tagOf(textItemId(kind, eventId), text.slice(0, got)) === unmarked(tag);
  return 'unknown';
}

/** Tells the same of an item whose text is whole. */
export function isSameWholeText(words: Words, place: SequencePlace): boolean {
  const same = isSameText(words, place);
  return same === 'unknown' ? tagOf(textItemId(words.kind, words.eventId), words.text) === unmarked(place.tag) : same;
}
