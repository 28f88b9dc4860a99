import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { unlessAborted } from '../../streams/waits.ts';
import { problemOf, reported } from '../problems/problem-of.ts';
import type { RouteRequest } from '../routing/route.ts';
import { openStream } from '../sse/open-stream.ts';
import { pulledBody } from '../sse/pulled-body.ts';

type StreamedRequest = Pick<RouteRequest<unknown, unknown, unknown>, 'caller' | 'raw' | 'signal' | 'settings'>;

/**
 * Returns a response with a line of JSON for each item, as the reader takes them: one of the caller's open streams, which ends with its
 * credentials. The first item is read before: an error becomes a problem. A later one is reported, and cuts the body off, so that it is
 * not taken for a whole one.
 */
export async function ndjsonResponse(items: AsyncGenerator<unknown>, request: StreamedRequest): Promise<Response> {
  // A body that is cut cannot be resumed, so it is finished while the service ends.
  const { signal, closed } = openStream({ ...request, signal: request.raw.signal });
  const encoder = new TextEncoder();
  const over = (): void => {
    closed();
    items.return(undefined).catch(() => undefined);
  };
  let next: IteratorResult<unknown> | undefined;
  try {
    next = await nextOf(items, signal);
  } catch (error) {
    over();
    throw error;
  }
  const body = pulledBody({
    signal,
    over,
    async next() {
      const got = next ?? (await reporting(request, signal, () => nextOf(items, signal)));
      next = undefined;
      return got.done ? undefined : encoder.encode(`${JSON.stringify(got.value)}\n`);
    },
  });
  return new Response(body, { status: 200, headers: { 'content-type': 'application/x-ndjson' } });
}

/** Returns the next item. Rejects once the signal is aborted. */
async function nextOf(items: AsyncGenerator<unknown>, signal: AbortSignal): Promise<IteratorResult<unknown>> {
  const got = await unlessAborted(items.next(), signal);
  if (got !== undefined) return got;
  throw errorCode(signal.reason) === undefined ? new LonghaulError('wait_timeout', 'The caller has gone') : signal.reason;
}

/** Settles as the work does, and reports its failure unless the reader was cut off. */
async function reporting<Value>({ raw, settings }: StreamedRequest, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted) problemOf(error, reported(raw), settings.report);
    throw error;
  }
}
