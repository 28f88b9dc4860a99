import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { isJsonObject } from '../../core/domain/json.ts';
import { sleep } from '../../temporal/waiting.ts';

/** The HTTP service of `longhaul dev` and `longhaul serve` on this machine. */
const USUAL_SERVICE = 'http://127.0.0.1:8787';

/** The pause before a stream that was cut is read again, in milliseconds. */
const AGAIN_MS = 1_000;

/** The most characters of one message of a stream. A longer one is not for a terminal. */
const MOST_CHARS = 4_000_000;

/** A service whose streams have the answers of models as they are written. */
export interface LiveService {
  url: string;
  /** The credentials that it is sent. */
  token?: string | undefined;
}

/**
 * Returns the service that may stream the runs of a Temporal server: the one in `LONGHAUL_SERVICE`, with the credentials in
 * `LONGHAUL_SERVICE_TOKEN`, or the usual one beside a server on this machine. Undefined for `LONGHAUL_SERVICE=none`, and for another server.
 */
export function liveService(env: NodeJS.ProcessEnv, address: string): LiveService | undefined {
  const { LONGHAUL_SERVICE: url, LONGHAUL_SERVICE_TOKEN: token } = env;
  if (url === 'none') return undefined;
  if (url) return { url: url.replace(/\/$/, ''), token: token || undefined };
  return /^(?:127\.0\.0\.1|localhost|\[::1\]):/.test(address) ? { url: USUAL_SERVICE } : undefined;
}

/** Returns why there is no service that may stream the runs of a Temporal server, for a person who waits for text. */
export function whyNoService({ LONGHAUL_SERVICE: url }: NodeJS.ProcessEnv): string {
  if (url === 'none') return 'LONGHAUL_SERVICE is "none"';
  return 'no service is known for this Temporal server: set LONGHAUL_SERVICE to the address of one (longhaul serve)';
}

/**
 * Yields the items of a run's stream, from a service. Ends at once, without an error, if the service is not there or does not have the run:
 * live text is more than a terminal needs. `onMissing` is told why then. A stream that is cut is read again.
 */
export async function* streamedItems(
  { url, token }: LiveService,
  runId: string,
  signal: AbortSignal,
  onMissing: (reason: string) => void = () => undefined,
): AsyncGenerator<StreamItemContent> {
  let cursor: string | undefined;
  try {
    for (;;) {
      const place = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`;
      const headers = { accept: 'text/event-stream', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
      // A redirection could lead to a place that must not have the credentials.
      const response = await fetch(`${url}/v1/runs/${encodeURIComponent(runId)}/stream${place}`, { headers, signal, redirect: 'error' });
      if (response.status !== 200 || !response.body) {
        if (cursor === undefined) onMissing(refusalOf(url, response.status));
        return;
      }
      try {
        for await (const { id, item } of itemsIn(response.body)) {
          cursor = id ?? cursor;
          yield item;
          if (item.type === 'end') return;
        }
      } catch {
        if (signal.aborted) return;
      }
      await sleep(AGAIN_MS, signal);
    }
  } catch (error) {
    // No service is there, or the reader has gone.
    if (cursor === undefined && !signal.aborted)
      onMissing(`no service answers at ${url} (${causeOf(error)}): start longhaul serve, or set LONGHAUL_SERVICE`);
  }
}

/** Returns why a service that answers streams nothing. */
function refusalOf(url: string, status: number): string {
  if (status === 401 || status === 403)
    return `the service at ${url} answers ${status}: set LONGHAUL_SERVICE_TOKEN to credentials that may read runs`;
  if (status === 404) return `the service at ${url} does not have the run: it may be that of another Temporal server`;
  return `the service at ${url} answers ${status}`;
}

/** Returns the code of a failed connection, or else the message. */
function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : errorMessage(error);
}

/** Yields the items of an event stream. Nothing in it is trusted: what is no item is left out. */
async function* itemsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<{ id: string | undefined; item: StreamItemContent }> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const frames = rest.split('\n\n');
    rest = frames.pop() ?? '';
    if (rest.length > MOST_CHARS) return;
    for (const frame of frames) {
      const lines = frame.split('\n');
      const field = (name: string): string[] =>
        lines.flatMap((line) => (line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []));
      const item = itemOf(field('data').join('\n'));
      if (item !== undefined) yield { id: field('id')[0], item };
    }
  }
}

function itemOf(data: string): StreamItemContent | undefined {
  try {
    const item: unknown = JSON.parse(data);
    return isJsonObject(item) && typeof item['type'] === 'string' ? (item as StreamItemContent & typeof item) : undefined;
  } catch {
    return undefined;
  }
}
