import { AsyncLocalStorage } from 'node:async_hooks';
import { parsedJson, isJsonObject, type JsonObject } from '../../../src/core/domain/json.ts';

/** A request as a package was about to send it. */
export interface UnsentRequest {
  /** The path of its URL. */
  path: string;
  body: JsonObject;
}

/** What a package has asked for while its request is described. */
interface Description {
  request?: UnsentRequest;
}

const descriptions = new AsyncLocalStorage<Description>();

/** Stands for the answer of a request that is not sent. */
class NotSent extends Error {
  constructor() {
    super('The request is described, and not sent');
  }
}

/**
 * Returns the request that `send` would make, without sending it. A package makes its requests with the `fetch` of the process, unless its
 * user gives it another one: that one gets a signal that is aborted, with which nothing is sent. Throws if there was no request to be seen.
 */
export async function unsentRequest(send: (signal: AbortSignal) => PromiseLike<unknown>): Promise<UnsentRequest> {
  const description: Description = {};
  const restore = replaceFetch();
  let failure: unknown;
  try {
    await descriptions.run(description, async () => send(AbortSignal.abort(new NotSent())));
  } catch (error) {
    failure = error;
  } finally {
    restore();
  }
  if (description.request !== undefined) return description.request;
  throw failure instanceof Error && !isAbort(failure) ? failure : new Error('its package does not use the "fetch" of the process');
}

function isAbort(error: Error): boolean {
  return error instanceof NotSent || error.name === 'AbortError' || error.cause instanceof NotSent;
}

let describing = 0;
let usual = globalThis.fetch;

/** Puts `describedFetch` into the place of `fetch` until the last description has ended. Other requests of the process pass through it. */
function replaceFetch(): () => void {
  if (describing === 0) {
    usual = globalThis.fetch;
    globalThis.fetch = describedFetch;
  }
  describing += 1;
  return () => {
    describing -= 1;
    if (describing === 0 && globalThis.fetch === describedFetch) globalThis.fetch = usual;
  };
}

const describedFetch: typeof fetch = async (input, init) => {
  const description = descriptions.getStore();
  // A package may have kept this function: outside of a description it does what `fetch` does.
  if (description === undefined) return (globalThis.fetch === describedFetch ? usual : globalThis.fetch)(input, init);
  const body = typeof init?.body === 'string' ? parsedJson(init.body) : undefined;
  const url = input instanceof Request ? input.url : String(input);
  if (isJsonObject(body) && URL.canParse(url)) description.request = { path: new URL(url).pathname, body };
  throw new NotSent();
};
