import { isOfEnd, type StreamItem } from '../../client/stream/stream-item.ts';
import { pause } from '../../streams/waits.ts';
import { problemOf, type ReportError } from '../problems/problem-of.ts';
import { eventStream, type StreamMessage } from './event-stream.ts';

/** The time within which the first item may tell that the request is wrong. A run that is idle has none to tell. */
const FIRST_ITEM_MS = 250;

/** The time within which it may tell that nothing comes behind the cursor of an end. Only a server that does not answer takes as long. */
const END_MS = 10_000;

/** Opens the stream of a run behind a cursor, until the signal is aborted. */
export type OpenStream = (cursor: string | undefined, signal: AbortSignal) => AsyncGenerator<StreamItem>;

/** The options of the response. */
interface RunStreamOptions {
  /** The cursor of the request. */
  cursor: string | undefined;
  /** Aborted when the stream has to be cut: the caller has gone, its credentials have expired, or the service ends. */
  signal: AbortSignal;
  /** Called once the stream is over. */
  closed: () => void;
  /** Receives the failure of the stream that its reader is not told. */
  report: ReportError;
  /** The path of the request, for the report. */
  path: string;
}

/**
 * Returns the response with the stream of a run. The id of a message is the cursor of its item. Rejects for a run that cannot be streamed.
 * Without anything behind the cursor of the end, the response is empty (204), so that an `EventSource` stops reconnecting.
 */
export async function runStreamResponse(open: OpenStream, options: RunStreamOptions): Promise<Response> {
  const { cursor, signal, closed } = options;
  if (signal.aborted) {
    closed();
    // The service is about to end: the client comes back, and finds another instance.
    return eventStream(nothing());
  }
  const reading = new AbortController();
  const stop = (): void => reading.abort();
  signal.addEventListener('abort', stop, { once: true });
  const items = open(cursor, reading.signal);
  const over = (): void => {
    signal.removeEventListener('abort', stop);
    stop();
    closed();
    // A client that does not read leaves the stream at an item: it gives back what it holds only if it is told.
    items.return(undefined).catch(() => undefined);
  };
  const first = items.next();
  // A client may go before it has read anything: then nothing else takes the error.
  first.catch(() => undefined);
  try {
    const limitMs = cursor !== undefined && isOfEnd(cursor) ? END_MS : FIRST_ITEM_MS;
    const got = await Promise.race([first, pause(limitMs, reading.signal)]);
    if (got?.done) {
      over();
      return new Response(null, { status: 204 });
    }
  } catch (error) {
    // To close the stream aborts the signal, too.
    const isCut = signal.aborted;
    over();
    if (isCut) return eventStream(nothing());
    throw error;
  }
  return eventStream(messagesOf(first, items, { ...options, signal: reading.signal }), { signal, closed: over });
}

async function* nothing(): AsyncGenerator<StreamMessage> {
  yield* [];
}

async function* messagesOf(
  first: Promise<IteratorResult<StreamItem>>,
  items: AsyncGenerator<StreamItem>,
  { signal, report, path }: Pick<RunStreamOptions, 'signal' | 'report' | 'path'>,
): AsyncGenerator<StreamMessage> {
  try {
    for (let next = await first; !next.done; next = await items.next()) yield messageOf(next.value);
  } catch (error) {
    // A cut says nothing, and the client comes back. An error for good is told: it would come back for ever.
    if (signal.aborted) throw error;
    const { problem } = problemOf(error, { method: 'GET', path }, report);
    if (problem.status >= 500 || problem.status === 429) throw error;
    yield { event: 'problem', data: JSON.stringify(problem) };
  }
}

function messageOf({ cursor, ...item }: StreamItem): StreamMessage {
  return { id: cursor, event: item.type, data: JSON.stringify(item) };
}
