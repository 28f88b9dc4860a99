import { newest } from './byte-budgets.ts';

/**
 * The ids of calls that have left the conversation, so that a new call does not get one of them: many servers count the calls of each answer
 * or conversation from zero. Ids that end with a number are kept as what is before it and their highest number: `["call_", 7]` stands for
 * `call_0` to `call_7`. Another id is kept with -1.
 */
export type UsedCallIds = readonly (readonly [text: string, highest: number])[];

/** The maximum number of entries, and their bytes of JSON. The newest are kept: ids that are not made by counting do not occur again. */
const USED = { count: 60, bytes: 1_000 };

/** The longest id that is kept, in characters: those that servers count are shorter. */
const LONGEST = 100;

/** Returns the id for a repeated id. */
export function numberedCallId(id: string, number: number): string {
  return `${id}-${number}`;
}

/** Returns the text before the number at the end of an id, and the number; -1 if it has none. */
function withoutNumber(id: string): [text: string, number: number] {
  const [, text, number] = /^(.*?)([0-9]{1,9})$/s.exec(id) ?? [];
  return text === undefined ? [id, -1] : [text, Number(number)];
}

/** Returns an id, and the one from which `numberedCallId` has made it. */
function idsOf(id: string): string[] {
  const [, repeated] = /^(.+)-[0-9]{1,9}$/s.exec(id) ?? [];
  return repeated === undefined ? [id] : [repeated, id];
}

/** Returns the used ids with more of them. */
export function withUsedCallIds(before: UsedCallIds, ids: readonly string[]): UsedCallIds {
  const used = new Map(before);
  for (const id of ids.filter(({ length }) => length <= LONGEST).flatMap(idsOf)) {
    const [text, number] = withoutNumber(id);
    const highest = Math.max(number, used.get(text) ?? -1);
    used.delete(text);
    used.set(text, highest);
  }
  return newest([...used], USED);
}

/** Returns whether an id is one of the used ids. */
export function isUsedCallId(used: UsedCallIds): (id: string) => boolean {
  const highest = new Map(used);
  return (id) => {
    const [text, number] = withoutNumber(id);
    return number <= (highest.get(text) ?? -2);
  };
}
