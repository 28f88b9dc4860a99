import { createHash } from 'node:crypto';
import type { ResponseOutputMessage, ResponseOutputText, ResponseReasoningItem } from 'openai/resources/responses/responses';
import { type Source, SOURCE_BOUNDS } from '../../../core/domain/content.ts';
import { LonghaulError } from '../../../core/domain/errors.ts';
import { defined } from '../../../core/domain/json.ts';
import { type ItemEvent, urlCitations } from './response-body.ts';

/** An event of a part, with its unit. A piece of text may be cut: it covers the units after `from`. */
export interface Piece extends Pick<SequencePlace, 'unit' | 'tag'> {
  event: ItemEvent;
  text?: { from: number; cut: (units: number) => ItemEvent };
}

/** The final state of an item of text. */
export interface Closing {
  status: 'completed' | 'incomplete';
  phase?: 'commentary' | 'final_answer';
}

/** The first unit of a part. Earlier units belong to the response itself. */
export const FIRST_UNIT = 2;

/** The unit after which the text of an item begins. */
const TEXT_UNIT = FIRST_UNIT + 1;

/** An unfinished item of text: a message, or the reasoning before it. It makes the events of the item. */
export class OpenText {
  readonly kind: TextKind;
  readonly id: string;
  readonly index: number;
  /** The event that will hold the text. */
  readonly eventId: string;
  readonly #tag: Tag;
  #text = '';
  #sources: readonly Source[] = [];

  /** `isMarked`: the reader already has another item with this id. */
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

  begin(): Piece[] {
    const added = { type: 'response.output_item.added', output_index: this.index, item: this.#item('in_progress') } as const;
    const tag = this.#tag.value;
    return [
      { unit: FIRST_UNIT, tag, event: added },
      { unit: TEXT_UNIT, tag, event: TEXT_EVENTS[this.kind].begin(this.#place) },
    ];
  }

  /** Adds text that arrives before its event. Text that is too long to be numbered waits for the event. */
  addLive(text: string): Piece[] {
    return this.add(text.slice(0, Math.max(0, MOST_TEXT_UNITS - this.#text.length)));
  }

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

  /** Adds the sources of the text, once its event is recorded. */
  cite(sources: readonly Source[] = []): void {
    this.#sources = sources;
  }

  end(closing: Closing): Piece[] {
    const annotations = this.#annotations();
    const done = {
      type: 'response.output_item.done',
      output_index: this.index,
      item: this.#item(closing.status, closing.phase),
    } as const;
    const cited = annotations.map(
      (annotation, annotation_index) =>
        ({ type: 'response.output_text.annotation.added', ...this.#place, ...IN_CONTENT, annotation_index, annotation }) as const,
    );
    const events: ItemEvent[] = [...cited, ...TEXT_EVENTS[this.kind].end(this.#place, this.#text, annotations), done];
    return events.map((event, number) => ({ unit: this.#textEnd() + 1 + number, tag: this.#tag.value, event }));
  }

  /** Returns the message with its whole text, under the same id in every process. `phase` is absent until it is known. */
  message({ status, phase }: Closing): ResponseOutputMessage {
    const id = textItemId(this.kind, this.eventId);
    return this.#messageItem(id, this.#text, { status, ...defined({ phase }) });
  }

  get #place(): { item_id: string; output_index: number } {
    return { item_id: this.id, output_index: this.index };
  }

  #annotations(): Annotation[] {
    return this.kind === 'message' ? urlCitations(this.#text, this.#sources).map((one) => ({ type: 'url_citation', ...one })) : [];
  }

  #textEnd(): number {
    return TEXT_UNIT + Math.min(this.#text.length, MOST_TEXT_UNITS + 1);
  }

  #delta(delta: string): ItemEvent {
    return TEXT_EVENTS[this.kind].delta(this.#place, delta);
  }

  #item(status: 'in_progress' | Closing['status'], phase?: Closing['phase']): ResponseOutputMessage | ResponseReasoningItem {
    const text = status === 'in_progress' ? undefined : this.#text;
    if (this.kind !== 'reasoning') return this.#messageItem(this.id, text, { status, ...defined({ phase }) });
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
      content: text === undefined ? [] : [messagePart(kind, text, this.#annotations())],
      ...defined({ phase }),
    };
  }
}

type Words = Pick<OpenText, 'kind' | 'eventId' | 'text'>;

/**
 * Returns whether an item with this text is the one that a reader has received up to a place; `unknown` while the text is too short.
 */
export function isSameText({ kind, eventId, text }: Words, { unit, tag }: SequencePlace): boolean | 'unknown' {
  const got = Math.max(0, unit - TEXT_UNIT);
  if (got <= Math.min(text.length, MOST_TEXT_UNITS)) return tagOf(textItemId(kind, eventId), text.slice(0, got)) === unmarked(tag);
  return 'unknown';
}

/** As `isSameText`, for an item whose text is complete. */
export function isSameWholeText(words: Words, place: SequencePlace): boolean {
  const same = isSameText(words, place);
  return same === 'unknown' ? tagOf(textItemId(words.kind, words.eventId), words.text) === unmarked(place.tag) : same;
}

/** The kind of a text: the model's message, its refusal to answer, or its reasoning. */
export type TextKind = 'message' | 'refusal' | 'reasoning';

interface TextEvents {
  begin: (at: ItemPlace) => ItemEvent;
  delta: (at: ItemPlace, delta: string) => ItemEvent;
  end: (at: ItemPlace, text: string, annotations: Annotation[]) => ItemEvent[];
}

interface ItemPlace {
  item_id: string;
  output_index: number;
}

const IN_CONTENT = { content_index: 0 };
const IN_SUMMARY = { summary_index: 0 };

const TEXT_EVENTS: Readonly<Record<TextKind, TextEvents>> = {
  message: {
    begin: (at) => ({ type: 'response.content_part.added', ...at, ...IN_CONTENT, part: messagePart('message', '') }),
    delta: (at, delta) => ({ type: 'response.output_text.delta', ...at, ...IN_CONTENT, delta, logprobs: [] }),
    end: (at, text, annotations) => [
      { type: 'response.output_text.done', ...at, ...IN_CONTENT, text, logprobs: [] },
      { type: 'response.content_part.done', ...at, ...IN_CONTENT, part: messagePart('message', text, annotations) },
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

/** A page that a text cites. */
type Annotation = ResponseOutputText.URLCitation;

function messagePart(kind: 'message' | 'refusal', text: string, annotations: Annotation[] = []): ResponseOutputMessage['content'][number] {
  return kind === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations };
}

/** Returns the id of an item of text, without a mark. */
export function textItemId(kind: TextKind, eventId: string): string {
  return kind === 'reasoning' ? `rs_${eventId}` : `msg_${eventId}`;
}

/** The number of tags. */
const TAGS = 2 ** 14;

/**
 * Distinguishes an item, with its text so far, from others that may be in its place. Half of the tags are for items with a marked id,
 * because the reader has received another item with the same id.
 */
class Tag {
  readonly #hash;
  readonly #isMarked: boolean;

  /** `id`: without the mark. */
  constructor(id: string, hasMark = false) {
    this.#hash = createHash('sha256').update(`${id}\n`);
    this.#isMarked = hasMark;
  }

  /** The tag of the text so far. */
  get value(): number {
    const digest = this.#hash.copy().digest().readUInt16BE() % (TAGS / 2);
    return digest * 2 + (this.#isMarked ? 1 : 0);
  }

  /** Adds text. Pieces may end in the middle of a character. */
  add(text: string): void {
    this.#hash.update(Buffer.from(text, 'utf16le'));
  }
}

/** Returns the tag of an item with a text, or without one. */
export function tagOf(id: string, text = ''): number {
  const tag = new Tag(id);
  tag.add(text);
  return tag.value;
}

/** True if the tag belongs to an item with a marked id. */
export function isMarkedTag(tag: number): boolean {
  return tag % 2 === 1;
}

/** Returns the tag of the same item without the mark. */
function unmarked(tag: number): number {
  return tag - (tag % 2);
}

/**
 * The place of an event in the stream of a response. It depends only on the record of the run and on the provisional items that
 * the reader was shown, so any process finds it again. Places are ordered by `provisional`, then `group`, then `unit`.
 */
export interface SequencePlace {
  /** The number of items before it that no recorded event holds: discarded ones, and reasoning. */
  provisional: number;
  /** The number of recorded parts of the output before it: messages, calls and results. */
  group: number;
  /** The units of the part up to it. A piece of text has one per UTF-16 code unit, any other event has one. */
  unit: number;
  /** The tag of its item and the text so far, which distinguishes an item from one that replaced it. */
  tag: number;
}

/** The number of values of each field: together they use the 53 bits of a JSON number. */
const PROVISIONAL = 2 ** 9;
const GROUPS = 2 ** 14;
const UNITS = 2 ** 16;

/** The most units of a text, which leaves room for its sources and its end. The rest of a longer text is one piece. */
const MOST_TEXT_UNITS = UNITS - 16 - SOURCE_BOUNDS.sources;

export function sequenceOf({ provisional, group, unit, tag }: SequencePlace): number {
  return ((provisional * GROUPS + group) * UNITS + unit) * TAGS + tag;
}

/** Returns the place of the event with this number; undefined for a number that no event has. */
export function placeOf(sequence: number): SequencePlace | undefined {
  if (!Number.isSafeInteger(sequence) || sequence < 0) return undefined;
  const place = Math.floor(sequence / TAGS);
  const part = Math.floor(place / UNITS);
  return { provisional: Math.floor(part / GROUPS), group: part % GROUPS, unit: place % UNITS, tag: sequence % TAGS };
}

/** Numbers the events of one reader, and knows which of them it has already received. */
export class Numbering {
  readonly #after: SequencePlace | undefined;
  #provisional: number;
  #group = 0;

  /** `after`: the last event that the reader has received. */
  constructor(after: SequencePlace | undefined) {
    this.#after = after;
    this.#provisional = after?.provisional ?? 0;
  }

  /** The number of provisional items so far. */
  get provisional(): number {
    return this.#provisional;
  }

  /** True if no more provisional items can be numbered: the reader waits for the record. */
  get isFull(): boolean {
    return this.#provisional >= PROVISIONAL - 1;
  }

  /** The place of the last event that the reader has received, if it is in this part. */
  get here(): SequencePlace | undefined {
    const after = this.#after;
    if (after === undefined || after.unit < FIRST_UNIT) return undefined;
    return after.provisional === this.#provisional && after.group === this.#group ? after : undefined;
  }

  /** True if the reader has received anything of a later part, and so everything provisional in this one. */
  get isPast(): boolean {
    const after = this.#after;
    return after !== undefined && after.provisional === this.#provisional && after.group > this.#group;
  }

  /** Counts an item that the record does not hold. */
  countProvisional(): void {
    this.#provisional += 1;
  }

  /** Counts a part of the record. */
  countGroup(): void {
    this.#group += 1;
    if (this.#group < GROUPS) return;
    throw new LonghaulError('payload_too_large', `The response has more than ${GROUPS} parts: read it without "stream"`);
  }

  /** Returns the number of an event, or undefined if the reader has received it. */
  next({ unit, tag }: Pick<SequencePlace, 'unit' | 'tag'>): number | undefined {
    const place = { provisional: this.#provisional, group: this.#group, unit, tag };
    return this.#after === undefined || isBefore(this.#after, place) ? sequenceOf(place) : undefined;
  }
}

function isBefore(one: SequencePlace, other: SequencePlace): boolean {
  if (one.provisional !== other.provisional) return one.provisional < other.provisional;
  return one.group === other.group ? one.unit < other.unit : one.group < other.group;
}
