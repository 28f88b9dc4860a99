import { isJsonObject, type JsonObject, parsedJson } from '../../../src/core/domain/json.ts';

/** A request as a package was about to send it. */
interface UnsentRequest {
  /** The path of its URL. */
  path: string;
  body: JsonObject;
}

/** The reason of the signal by which a described request is known, and what stands for its answer. */
class NotSent extends Error {
  request?: UnsentRequest;

  constructor() {
    super('The request is described, and not sent');
  }
}

/**
 * Returns the request that `send` would make with its signal, without sending it. A package makes its requests with the `fetch` of the
 * process, unless its user gives it another one: that one gets a signal that is aborted, with which nothing is sent. Requests without the
 * signal are made, such as those of a user's `fetch` for a token. Throws if there was no request to be seen.
 */
export async function unsentRequest(send: (signal: AbortSignal) => PromiseLike<{ stream: ReadableStream }>): Promise<UnsentRequest> {
  const notSent = new NotSent();
  const restore = replaceFetch();
  let failure: unknown;
  try {
    const { stream } = await send(AbortSignal.abort(notSent));
    // It was sent without the signal: nobody reads the answer.
    const discard = async (): Promise<void> => stream.cancel();
    discard().catch(() => undefined);
  } catch (error) {
    failure = error;
  } finally {
    restore();
  }
  if (notSent.request !== undefined) return notSent.request;
  throw failure instanceof Error && !isAbort(failure)
    ? failure
    : new Error('its package does not use the "fetch" of the process with the signal of the call');
}

function isAbort(error: Error): boolean {
  return error instanceof NotSent || error.name === 'AbortError' || error.cause instanceof NotSent;
}

/** A `fetch` that sees described requests, in the place of the one before it. */
interface Replacement {
  readonly fetch: typeof fetch;
  readonly before: typeof fetch;
  /** How many descriptions need it. */
  open: number;
}

let latest: Replacement | undefined;

/** Replaces `fetch` until the last description has ended. What somebody else puts into its place meanwhile stays there. */
function replaceFetch(): () => void {
  if (latest === undefined || globalThis.fetch !== latest.fetch) {
    latest = replacementOf(globalThis.fetch);
    globalThis.fetch = latest.fetch;
  }
  const replacement = latest;
  replacement.open += 1;
  return () => {
    replacement.open -= 1;
    if (replacement.open === 0 && globalThis.fetch === replacement.fetch) globalThis.fetch = replacement.before;
  };
}

/** Others may keep the new `fetch` for good, so it passes on to `before` alone, whatever the one of the process is by then. */
function replacementOf(before: typeof fetch): Replacement {
  const seeing: typeof fetch = async (input, init) => {
    const asked = input instanceof Request ? input : undefined;
    const reason: unknown = (init?.signal ?? asked?.signal)?.reason;
    if (!(reason instanceof NotSent)) return before(input, init);
    const body = init?.body ?? (await asked?.text());
    const content = typeof body === 'string' ? parsedJson(body) : undefined;
    const url = input instanceof Request ? input.url : String(input);
    if (isJsonObject(content) && hasConversation(content) && URL.canParse(url)) {
      reason.request = { path: new URL(url).pathname, body: content };
    }
    throw reason;
  };
  return { fetch: seeing, before, open: 0 };
}

/** False for a request for a token to which a `fetch` of the user has passed the signal on: it has secrets, and no list of messages. */
function hasConversation(body: JsonObject): boolean {
  return Object.values(body).some((value) => Array.isArray(value) && value.some(isJsonObject));
}
