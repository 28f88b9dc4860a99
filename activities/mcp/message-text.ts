import { memberOf } from '../../src/core/domain/errors.ts';

/** The maximum bytes of one message of a server. Results are cut far below. */
export const MAX_MESSAGE_BYTES = 10_000_000;

/** The error code for a request whose answer is too large, from the range that the protocol leaves to implementations. */
export const TOO_LARGE = -32_098;

/** The characters that are kept of each end of a message that is too large. */
const END_CHARS = 1_000;

/**
 * Collects the pieces of one message of a server, on one line. A message that is too large must not end a connection that other calls share:
 * of it only both ends are kept, which say what it is about.
 */
export class MessageText {
  #pieces: string[] = [];
  #bytes = 0;
  #beginning = '';
  #end = '';

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get isTooLarge(): boolean {
    return this.#bytes > MAX_MESSAGE_BYTES;
  }

  add(piece: string): void {
    this.#bytes += Buffer.byteLength(piece);
    this.#pieces.push(piece);
    if (!this.isTooLarge) return;
    const text = this.#pieces.join('');
    this.#pieces = [];
    this.#beginning = (this.#beginning + text).slice(0, END_CHARS);
    this.#end = (this.#end + text).slice(-END_CHARS);
  }

  /**
   * Returns the message, and begins the next. In place of one that is too large it returns an answer that says so to its request, and no
   * text if it is no answer. `id`: the request that it answers, if there is only one candidate. Throws if neither says the request.
   */
  take(id?: string | number): string {
    const text = this.isTooLarge ? this.#inItsPlace(id) : this.#pieces.join('');
    this.#pieces = [];
    this.#bytes = 0;
    this.#beginning = '';
    this.#end = '';
    return text;
  }

  #inItsPlace(id: string | number | undefined): string {
    const [field = ''] = /^data: ?/.exec(this.#beginning) ?? [];
    const beginning = this.#beginning.slice(field.length);
    if (IS_REQUEST.test(beginning)) return '';
    const about = id ?? (ID_FIRST.exec(beginning) ?? ID_LAST.exec(this.#end.trimEnd()))?.[1];
    if (about === undefined) throw tooLargeError();
    return field + JSON.stringify({ jsonrpc: '2.0', id: about, error: { code: TOO_LARGE, message: 'more than 10 MB' } });
  }
}

/** True for the error of a request whose answer was too large. */
export function isTooLarge(error: unknown): boolean {
  return memberOf(error, 'code') === TOO_LARGE;
}

export function tooLargeError(): Error {
  return Object.assign(new Error(`a message of more than ${MAX_MESSAGE_BYTES} bytes`), { code: TOO_LARGE });
}

/** The members of a message come in any order, but the large one, its result or parameters, is not between two others. */
const IS_REQUEST = /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?(?:\s*"id"\s*:[^,]{1,200},)?\s*"method"\s*:/;
const ID_FIRST = /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*"?(\d{1,15})"?\s*,/;
const ID_LAST = /,\s*"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$/;
