/** The most bytes of one message of a server: as many as the client accepts from a process. Results are cut far below. */
export const MAX_MESSAGE_BYTES = 10_000_000;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * Calls `fetch` and bounds the size of the answer: of the whole, or of each event of an event stream. A larger one is
 * aborted.
 */
export async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(bounded(isStream)), { status, statusText, headers });
}

function bounded(isStream: boolean): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes = isStream && hasBlankLine(chunk) ? chunk.length : bytes + chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) controller.error(new Error(`a message of more than ${MAX_MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

/** True if an event ends in this chunk of the stream. */
function hasBlankLine(chunk: Uint8Array): boolean {
  return chunk.some((byte, index) => {
    if (byte !== LINE_FEED) return false;
    return chunk[index - 1] === LINE_FEED || (chunk[index - 1] === CARRIAGE_RETURN && chunk[index - 2] === LINE_FEED);
  });
}
