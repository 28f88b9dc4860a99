import { UsageError } from '../core/domain/errors.ts';
import type { MemoryPage } from './memory-store.ts';

/** Returns the page of a list that begins with its entries, and with one more entry if there is a next page. */
export function pageOf(entries: MemoryPage['entries'], limit: number): MemoryPage {
  const page = entries.slice(0, limit);
  const last = page.at(-1);
  return entries.length > limit && last !== undefined
    ? { entries: page, next: Buffer.from(last.key).toString('base64url') }
    : { entries: page };
}

/** Returns the key that the page of a cursor begins after; an empty text for the first page. Throws a UsageError for a text that is no cursor. */
export function keyBefore(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const key = Buffer.from(cursor, 'base64url').toString();
  if (key !== '' && Buffer.from(key).toString('base64url') === cursor) return key;
  throw new UsageError(`"${cursor}" is no cursor of a memory: use the "next" of a page as it is`);
}

/** Compares keys by their characters, as databases do that compare bytes of UTF-8. */
export function compareKeys(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
