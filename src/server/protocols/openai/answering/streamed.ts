import type { StreamItem } from '../../../../client/stream/stream-item.ts';
import type { Scope } from '../../../auth/caller.ts';
import { RequestError } from '../../../problems/request-error.ts';
import type { RouteRequest } from '../../../routing/route.ts';
import { reported } from '../../../problems/problem-of.ts';
import { eventStream, type StreamMessage } from '../../../sse/event-stream.ts';
import { openStream } from '../../../sse/open-stream.ts';
import { type OpenaiError, openaiErrorOf } from '../errors/error-body.ts';
import { runHeaders } from './run-headers.ts';

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

/**
 * Returns the response with the stream of a run, from its beginning. A reader that goes ends nothing. `prepare` finds the run, once the
 * caller may have a stream: a start that no one can read would be repeated. `scope` is the right of the route.
 */
export async function streamedResponse(
  request: StreamedRequest & { scope: Scope },
  prepare: () => Promise<{ runId: string; encoder: StreamEncoder }>,
): Promise<Response> {
  const { signal, closed } = openStream(request, request.scope);
  try {
    const { runId, encoder } = await prepare();
    const items = request.client.handle(runId).stream({ signal });
    return eventStream(messagesOf(items, encoder, { ...request, signal }), {
      signal,
      closed,
      headers: runHeaders(runId),
      breaksIfCut: true,
    });
  } catch (error) {
    closed();
    throw error;
  }
}

async function* messagesOf(
  items: AsyncGenerator<StreamItem>,
  encoder: StreamEncoder,
  { settings, raw, signal }: StreamedRequest,
): AsyncGenerator<StreamMessage> {
  try {
    yield* encoder.begin();
    for await (const item of items) yield* encoder.take(item);
    yield* encoder.end();
  } catch (error) {
    const told = settings.closing.aborted ? shuttingDown() : error;
    // A reader that was cut off is no failure of the service.
    const report = signal.aborted ? () => undefined : settings.report;
    yield* encoder.fail(openaiErrorOf(told, reported(raw), report).error);
  }
}

function shuttingDown(): RequestError {
  return new RequestError('shutting_down', 'The process of the service is about to end, and the run goes on: send the request again');
}
