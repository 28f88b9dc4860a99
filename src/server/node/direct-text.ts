import type { Handler } from '../handler.ts';

const texts = new WeakMap<Response, string>();
const handlers = new WeakMap<Handler, Handler>();

/**
 * Returns a response without a body, whose text is to be written to Node's response directly (`directTextOf`). A body is a stream of the
 * web: to make and to read it takes longer than everything else that the service does for a short response.
 */
export function directText(text: string, init: ResponseInit): Response {
  const response = new Response(null, init);
  texts.set(response, text);
  return response;
}

/** Returns the text of a response without a body; undefined for any other response. */
export function directTextOf(response: Response): string | undefined {
  return texts.get(response);
}

/** Remembers how a handler answers if it may use `directText`. */
export function setDirectHandler(handler: Handler, direct: Handler): void {
  handlers.set(handler, direct);
}

/** Returns a handler that may use `directText`. A function of the user's stays as it is: what it makes of a response is its own affair. */
export function directHandler(handler: Handler): Handler {
  return handlers.get(handler) ?? handler;
}
