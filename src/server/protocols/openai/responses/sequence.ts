import { LonghaulError } from '../../../../core/domain/errors.ts';
import { TAGS } from './tag.ts';

/**
 * The place of an event in the stream of a response. It follows from the record of the run and from the provisional items alone that
 * the reader was shown, so any process finds it again. Places grow by `provisional`, then `group`, then `unit`.
 */
export interface SequencePlace {
  /** The number of items before it that no event of the record holds: those that were taken back, and reasoning. */
  provisional: number;
  /** The number of recorded parts of the output before it: messages, calls and results. */
  group: number;
  /** The units of the part up to it. A piece of text has one for each of its UTF-16 code units, any other event has one. */
  unit: number;
  /** The tag of its item, and of the text of it so far. Without it a reader could not tell an item from the one that replaced it. */
  tag: number;
}

/** The number of values of each field: together they use the 53 bits of a number of JSON. */
const PROVISIONAL = 2 ** 9;
const GROUPS = 2 ** 14;
const UNITS = 2 ** 16;

/** The most units of a text. The rest of a longer one is one piece. */
export const MOST_TEXT_UNITS = UNITS - 16;

/** The first unit of a part. Those before are of the response itself. */
export const FIRST_UNIT = 2;

/** Returns the number of an event at a place. */
export function sequenceOf({ provisional, group, unit, tag }: SequencePlace): number {
  return ((provisional * GROUPS + group) * UNITS + unit) * TAGS + tag;
}

/** Returns the place of an event with a number; undefined for a number that no event has. */
export function placeOf(sequence: number): SequencePlace | undefined {
  if (!Number.isSafeInteger(sequence) || sequence < 0) return undefined;
  const place = Math.floor(sequence / TAGS);
  const part = Math.floor(place / UNITS);
  return { provisional: Math.floor(part / GROUPS), group: part % GROUPS, unit: place % UNITS, tag: sequence % TAGS };
}

/** Numbers the events of one reader, and knows which of them it has got before. */
export class Numbering {
  readonly #after: SequencePlace | undefined;
  #provisional: number;
  #group = 0;

  /** `after`: the last event that the reader has got. */
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

  /** The place of the last event that the reader has got, if it is in this part. */
  get here(): SequencePlace | undefined {
    const after = this.#after;
    if (after === undefined || after.unit < FIRST_UNIT) return undefined;
    return after.provisional === this.#provisional && after.group === this.#group ? after : undefined;
  }

  /** True if the reader has got anything of a later part: it has got all that was provisional in this one. */
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

  /** Returns the number of an event, or undefined if the reader has got it. */
  next({ unit, tag }: Pick<SequencePlace, 'unit' | 'tag'>): number | undefined {
    const place = { provisional: this.#provisional, group: this.#group, unit, tag };
    return this.#after === undefined || isBefore(this.#after, place) ? sequenceOf(place) : undefined;
  }
}

function isBefore(one: SequencePlace, other: SequencePlace): boolean {
  if (one.provisional !== other.provisional) return one.provisional < other.provisional;
  return one.group === other.group ? one.unit < other.unit : one.group < other.group;
}
