import { newest } from './byte-budgets.ts';

/**
 * The ids of calls that have left the conversation, so that a new call does not get one of them: many servers count the calls of each answer
 * from zero. An entry stands for an id and for the ids that were made from it: `["call_0", 3]` for `call_0`, `call_0-2` and `call_0-3`.
 */
export type UsedCallIds = readonly (readonly [id: string, highest: number])[];

/** The maximum number of entries, and their bytes of JSON. The newest are kept: ids that are not made by counting do not occur again. */
const USED = { count: 300, bytes: 10_000 };

/** Returns the id for a repeated id. */
export function numberedCallId(id: string, number: number): string {
  return `${id}-${number}`;
}

/** Returns an id without its number, and the number; 1 if it has none. */
function withoutNumber(id: string): [id: string, number: number] {
  const [, base, number] = /^(.+)-([1-9][0-9]{0,4})$/s.exec(id) ?? [];
  return base === undefined || Number(number) < 2 ? [id, 1] : [base, Number(number)];
}

/** Returns the used ids with more of them. */
export function withUsedCallIds(before: UsedCallIds, ids: readonly string[]): UsedCallIds {
  const used = new Map(before);
  for (const id of ids) {
    const [base, number] = withoutNumber(id);
    const highest = Math.max(number, used.get(base) ?? 1);
    used.delete(base);
    used.set(base, highest);
  }
  return newest([...used], USED);
}

/** Returns whether an id is one of the used ids. */
export function isUsedCallId(used: UsedCallIds): (id: string) => boolean {
  const highest = new Map(used);
  return (id) => {
    const [base, number] = withoutNumber(id);
    return highest.has(id) || number <= (highest.get(base) ?? 0);
  };
}
