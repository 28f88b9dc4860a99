import { errorCode } from '../../core/domain/errors/error.ts';
import type { ListPage, PageOptions } from '../../client/listing/list-page.ts';
import { invalidCursor, type List, pageBody, positionOf } from './cursor.ts';

/** The number of items of a page that names none. */
export const DEFAULT_PAGE_SIZE = 50;

/** The parameters of a page. */
export interface PageParameters {
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
