import type { StreamItem } from '../../../../client/stream/stream-item.ts';
import { untilExpiry } from '../../../auth/until-expiry.ts';
import { RequestError } from '../../../problems/request-error.ts';
import type { RouteRequest } from '../../../routing/route.ts';
import { eventStream, type StreamMessage } from '../../../sse/event-stream.ts';
import { type OpenaiError, openaiErrorOf } from '../errors/error-body.ts';

/** Turns the stream of a run into the messages of a protocol. */
export interface StreamEncoder {
  begin(): Iterable<StreamMessage>;
  take(item: StreamItem): Iterable<StreamMessage>;
  /** Ends a stream that has reached the end of its run. */
  end(): Iterable<StreamMessage>;
  /** Ends a stream that cannot go on. */
  fail(error: OpenaiError): Iterable<StreamMessage>;
}

type StreamedRequest = Pick<RouteRequest<unknown, unknown, unknown>, 'client' | 'caller' | 'signal' | 'settings' | 'raw'>;

/** Returns the response with the stream of a run, from its beginning. A reader that goes ends nothing. */
export function streamedResponse(
  runId: string,
  request: StreamedRequest,
  encoder: StreamEncoder,
  headers: Record<string, string>,
): Response {
  const ended = new AbortController();
  const signal = untilExpiry(request.caller, AbortSignal.any([request.signal, ended.signal]));
  const items = request.client.handle(runId).stream({ signal });
  return eventStream(messagesOf(items, encoder, request), { closed: () => ended.abort(), headers });
}

async function* messagesOf(
  items: AsyncGenerator<StreamItem>,
  encoder: StreamEncoder,
  { settings, raw }: StreamedRequest,
): AsyncGenerator<StreamMessage> {
  try {
    yield* encoder.begin();
    for await (const item of items) yield* encoder.take(item);
    yield* encoder.end();
  } catch (error) {
    const told = settings.closing.aborted ? shuttingDown() : error;
    const path = new URL(raw.url).pathname;
    yield* encoder.fail(openaiErrorOf(told, { method: raw.method, path }, report).error);
  }
}

function shuttingDown(): RequestError {
  return new RequestError('shutting_down', 'The process of the service is about to end, and the run goes on: send the request again');
}

function report(): void {
  // The occurrence is told to the caller by its id; streams that break are part of the day.
}
