import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ListPage, PageOptions } from '../../client/visibility.ts';
import { errorCode } from '../../core/domain/errors.ts';
import { canonicalJson, type JsonObject } from '../../core/domain/json.ts';
import { identityOf, type Principal } from '../../core/domain/run.ts';
import { RequestError } from '../problems/request-error.ts';

/** The number of items of a page that names none. */
const DEFAULT_PAGE_SIZE = 50;

/** The parameters of a page. */
interface PageParameters {
  limit?: number;
  cursor?: string;
}

/** Reads a page of a list, and returns the body of its response. Throws `invalid_cursor`. */
export async function readPage<Item>(
  list: List,
  { limit = DEFAULT_PAGE_SIZE, cursor }: PageParameters,
  read: (page: PageOptions) => Promise<ListPage<Item>>,
): Promise<Record<string, unknown>> {
  if (cursor === undefined) return pageBody(list, await read({ pageSize: limit }));
  const after = positionOf(list, cursor);
  try {
    return pageBody(list, await read({ pageSize: limit, after }));
  } catch (error) {
    // The filter was accepted for the page before, so the position is wrong.
    throw errorCode(error) === 'invalid_input' ? invalidCursor('the server refuses its position', error) : error;
  }
}

/** A list: its name, the principal whose runs it has, and its filter. */
interface List {
  name: string;
  principal: Principal | undefined;
  filter: object;
}

const CURSOR = z.strictObject({ at: z.string().min(1), of: z.string() });

/**
 * Returns the cursor of the next page of a list. It holds the position and a digest of both, so that any process takes it, and
 * only for that list. Nothing in it is secret, and it grants nothing: each page is filtered by the principal of its caller.
 */
function cursorOf(list: List, position: string): string {
  return Buffer.from(JSON.stringify({ at: position, of: digestOf(list, position) })).toString('base64url');
}

/** Returns the position of a cursor. Throws `invalid_cursor` for one that is none, or that of another list. */
function positionOf(list: List, cursor: string): string {
  const read = CURSOR.safeParse(decoded(cursor));
  if (read.success && read.data.of === digestOf(list, read.data.at)) return read.data.at;
  throw invalidCursor(read.success ? 'it is that of another list, filter or caller' : 'it is none that the service has given');
}

/** Returns the refusal of a cursor. */
function invalidCursor(why: string, cause?: unknown): RequestError {
  return new RequestError('invalid_cursor', `The cursor leads nowhere: ${why}. Begin without one, and take each from the page before`, {
    errors: [{ parameter: 'cursor', detail: why }],
    cause,
  });
}

/** Returns the members of a page by their name, with the cursor of the next one. */
function pageBody<Item>(list: List, { items, next }: ListPage<Item>): Record<string, unknown> {
  return { [list.name]: items, ...(next === undefined ? {} : { next: cursorOf(list, next) }) };
}

function decoded(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown;
  } catch {
    return undefined;
  }
}

function digestOf({ name, principal, filter }: List, position: string): string {
  const whole = { name, position, ...identityOf(principal ?? {}), filter: JSON.parse(JSON.stringify(filter)) as JsonObject };
  return createHash('sha256').update(canonicalJson(whole)).digest('base64url').slice(0, 22);
}
