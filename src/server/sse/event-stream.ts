import { NextValue } from '../../streams/waits.ts';
import { pulledBody } from './pulled-body.ts';

/** One message of an event stream. */
export interface StreamMessage {
  /** The position of the message: a client that comes back sends that of the last one it has got. */
  id?: string;
  /** The type by which clients listen. */
  event?: string;
  /** The text: JSON, or a word of the protocol. */
  data: string;
}

/** The pause after which a comment keeps the connection open. */
const COMMENT_MS = 15_000;

/** The milliseconds after which an `EventSource` that was cut off comes back. */
const RETRY_MS = 1_000;

/** The headers of an event stream. Proxies must pass on each message at once. */
const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** The options of an event stream. */
export interface EventStreamOptions {
  /** Aborted when the stream has to be cut: the messages end then, and a reader that does not read loses its connection. */
  signal?: AbortSignal;
  /** Called once the stream is over, however it ends. */
  closed?: () => void;
  headers?: Record<string, string>;
  /** The milliseconds between two comments. */
  commentMs?: number;
  /**
   * True for a client that is no `EventSource`: it takes a connection that is closed for the end, and one that breaks for a cut, and comes
   * back by itself. It is sent no `retry`, which the OpenAI package for Python takes for an event without data.
   */
  breaksIfCut?: boolean;
}

/**
 * Returns a response that sends messages as server-sent events. A message is asked for when the client has room for it, so a client that
 * does not read holds back one message, and the source decides what it misses. If the source fails, the connection is cut without an end.
 */
export function eventStream(messages: AsyncGenerator<StreamMessage>, options: EventStreamOptions = {}): Response {
  const { signal, closed = () => undefined, headers = {}, commentMs = COMMENT_MS, breaksIfCut = false } = options;
  const encoder = new TextEncoder();
  const next = new NextValue(messages);
  const over = new AbortController();
  let isFirst = !breaksIfCut;
  const body = pulledBody({
    signal,
    async next() {
      if (isFirst) {
        isFirst = false;
        return encoder.encode(`retry: ${RETRY_MS}\n\n`);
      }
      try {
        const got = await next.within(commentMs, over.signal);
        if (got === undefined) return encoder.encode(': the stream goes on\n\n');
        return got.done ? undefined : encoder.encode(textOf(got.value));
      } catch (error) {
        // Otherwise the client comes back with the id of the last message it has got.
        if (breaksIfCut) throw error;
        return undefined;
      }
    },
    over() {
      over.abort();
      closed();
      messages.return(undefined).catch(() => undefined);
    },
  });
  return new Response(body, { status: 200, headers: { ...HEADERS, ...headers } });
}

function textOf({ id, event, data }: StreamMessage): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}
