import { isOfEnd, listsOf } from '../client/stream/stream-item.ts';
import { errorCode, LonghaulError } from '../core/domain/errors.ts';
import { MAX_TIMER_MS } from '../core/domain/time.ts';
import { NextValue, pause, unlessAborted } from '../streams/waits.ts';
import { type Authenticate, type Caller, hasScope, haveSamePrincipal, type Scope, wrongCredentials } from './auth/caller.ts';
import { takePlace } from './limits.ts';
import { problemOf, reportedRequest, type ReportError } from './problems.ts';
import type { RouteRequest } from './route.ts';

/** How long to wait for a first item, which may show that the request is invalid. An idle run has no item. */
const FIRST_ITEM_MS = 250;

/** The same for the cursor of an end, after which nothing may come. Only a server that does not answer takes this long. */
const END_MS = 10_000;

/** One item of a stream. It is sent as a message with its cursor as the id. */
interface StreamItem {
  type: string;
  cursor: string;
}

/** Opens a stream after a cursor, until the signal is aborted. */
type StreamOpener = (cursor: string | undefined, signal: AbortSignal) => AsyncGenerator<StreamItem>;

/** The options of the response. */
interface RunStreamOptions {
  /** The cursor of the request. */
  cursor: string | undefined;
  /** Aborted when the stream has to be cut: the caller has gone, its credentials have expired, or the service ends. */
  signal: AbortSignal;
  /** Called once the stream is over. */
  closed: () => void;
  /** Receives failures that the reader does not see. */
  report: ReportError;
  /** The path of the request, for the report. */
  path: string;
}

/**
 * Returns the response that streams a run. The id of a message is the cursor of its item. Rejects for a run that cannot be streamed.
 * If nothing comes after the cursor of the end, the response is empty (204), so that an `EventSource` stops reconnecting.
 */
export async function runStreamResponse(open: StreamOpener, options: RunStreamOptions): Promise<Response> {
  const { cursor, signal, closed } = options;
  if (signal.aborted) {
    closed();
    // The service is about to end: the client reconnects to another instance.
    return eventStream(nothing());
  }
  const reading = new AbortController();
  const stop = (): void => reading.abort();
  signal.addEventListener('abort', stop, { once: true });
  const opened = open(cursor, reading.signal);
  const items = listsOf(opened) ?? opened;
  const over = (): void => {
    signal.removeEventListener('abort', stop);
    stop();
    closed();
    // A client that does not read leaves the stream suspended at an item: only `return` releases what it holds.
    items.return(undefined).catch(() => undefined);
  };
  const first = items.next();
  // A client may disconnect before it has read anything: then nothing else handles the error.
  first.catch(() => undefined);
  try {
    const limitMs = cursor !== undefined && isOfEnd(cursor) ? END_MS : FIRST_ITEM_MS;
    const got = await Promise.race([first, pause(limitMs, reading.signal)]);
    if (got?.done) {
      over();
      return new Response(null, { status: 204 });
    }
  } catch (error) {
    // Closing the stream also aborts the signal.
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
  first: Promise<IteratorResult<StreamItem | readonly StreamItem[]>>,
  items: AsyncGenerator<StreamItem | readonly StreamItem[]>,
  { signal, report, path }: Pick<RunStreamOptions, 'signal' | 'report' | 'path'>,
): AsyncGenerator<StreamMessage | WrittenMessages> {
  try {
    for (let next = await first; !next.done; next = await items.next()) {
      const { value } = next;
      yield isList(value) ? { frames: framesOf(value) } : messageOf(value);
    }
  } catch (error) {
    // After a cut the client reconnects. A permanent error is sent, or it would reconnect forever.
    if (signal.aborted) throw error;
    const { problem } = problemOf(error, { method: 'GET', path }, report);
    if (problem.status >= 500 || problem.status === 429) throw error;
    yield { event: 'problem', data: JSON.stringify(problem) };
  }
}

function isList(value: StreamItem | readonly StreamItem[]): value is readonly StreamItem[] {
  return Array.isArray(value);
}

/** The JSON of lists: readers at the same place get the same list. */
const LIST_TEXTS = new WeakMap<readonly StreamItem[], string>();

function framesOf(items: readonly StreamItem[]): string {
  const text = LIST_TEXTS.get(items) ?? items.map((item) => frameText(messageOf(item))).join('');
  LIST_TEXTS.set(items, text);
  return text;
}

function messageOf({ cursor, ...item }: StreamItem): StreamMessage {
  return { id: cursor, event: item.type, data: jsonOf(item) };
}

/** The JSON of recorded items: all readers of a run get the same. */
const RECORDED_TEXTS = new WeakMap<object, string>();

/** Returns an item as JSON. A recorded item is serialized once while something references it. */
function jsonOf(item: object): string {
  const { type, ...members } = item as { type: string; [member: string]: unknown };
  const recorded = type === 'event' || type === 'step' ? members[type] : undefined;
  if (typeof recorded !== 'object' || recorded === null) return JSON.stringify(item);
  const text = RECORDED_TEXTS.get(recorded) ?? JSON.stringify(recorded);
  RECORDED_TEXTS.set(recorded, text);
  return `${JSON.stringify({ type, ...members, [type]: undefined }).slice(0, -1)},"${type}":${text}}`;
}

/** A stream that a caller may read. */
export interface OpenStream {
  /** Aborted when the stream has to be cut: the caller has gone, its credentials have expired, or the service ends. */
  signal: AbortSignal;
  /** To be called once the stream is over. */
  closed: () => void;
}

/**
 * Opens a stream for the caller of a request. `scope` is the scope that its route requires. Throws `too_many_requests` if the caller
 * has reached its limit.
 */
export function openStream(
  { caller, raw, signal, settings }: Pick<RouteRequest<unknown, unknown, unknown>, 'caller' | 'raw' | 'signal' | 'settings'>,
  scope: Scope = 'runs:read',
): OpenStream {
  const { limits, authenticate } = settings;
  const giveBack = takePlace(limits, caller);
  const ended = new AbortController();
  return {
    signal: untilRefused({ request: raw, authenticate, caller, signal: AbortSignal.any([signal, ended.signal]), scope }),
    closed: () => {
      ended.abort();
      giveBack();
    },
  };
}

export interface StreamMessage {
  /** The position of the message: a client that reconnects sends the id of the last message it received. */
  id?: string;
  /** The event type that clients listen for. */
  event?: string;
  /** The text: JSON, or a keyword of the protocol. */
  data: string;
}

/** Messages that are already serialized for an event stream. */
interface WrittenMessages {
  frames: string;
}

/** The idle time after which a comment keeps the connection open. */
const COMMENT_MS = 15_000;

/** The most characters of available messages that are sent together. */
const TOGETHER = 64_000;

/** The milliseconds after which a disconnected `EventSource` reconnects. */
const RETRY_MS = 1_000;

/** The headers of an event stream. Proxies must forward each message at once. */
const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** The options of an event stream. */
interface EventStreamOptions {
  /** Aborted when the stream has to be cut: the messages end, and a reader that does not read loses its connection. */
  signal?: AbortSignal;
  /** Called once the stream is over, however it ends. */
  closed?: () => void;
  headers?: Record<string, string>;
  /** The milliseconds between two comments. */
  commentMs?: number;
  /**
   * True for a client that is not an `EventSource`: it treats a closed connection as the end, and a broken one as a cut, and reconnects
   * by itself. It is sent no `retry`, which the OpenAI package for Python takes for an event without data.
   */
  breaksIfCut?: boolean;
}

/**
 * Returns a response that sends messages as server-sent events, batching those available at the same time. They are pulled when the
 * client has room for them, so a client that does not read holds back few, and the source decides what it misses. If the source
 * fails, the connection is cut without an end.
 */
export function eventStream(messages: AsyncGenerator<StreamMessage | WrittenMessages>, options: EventStreamOptions = {}): Response {
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
        if (got === undefined) return encoder.encode(': the stream continues\n\n');
        return got.done ? undefined : encoder.encode(await framesFrom(got.value, next));
      } catch (error) {
        // Otherwise the client reconnects with the id of the last message it received.
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

/** Returns a message and the next ones that are already available: a write takes longer than making its message. */
async function framesFrom(first: StreamMessage | WrittenMessages, next: NextValue<StreamMessage | WrittenMessages>): Promise<string> {
  let text = textOf(first);
  while (text.length < TOGETHER) {
    const more = await next.ready();
    if (more === undefined || more.done) break;
    text += textOf(more.value);
  }
  return text;
}

function textOf(message: StreamMessage | WrittenMessages): string {
  return 'frames' in message ? message.frames : frameText(message);
}

function frameText({ id, event, data }: StreamMessage): string {
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ];
  return `${lines.join('\n')}\n\n`;
}

type StreamedRequest = Pick<RouteRequest<unknown, unknown, unknown>, 'caller' | 'raw' | 'signal' | 'settings'>;

/**
 * Returns a response with a line of JSON for each item, pulled by the reader. It is one of the caller's open streams, and ends with its
 * credentials. The first item is read first: its error becomes a problem. A later error is reported and cuts the body off, so that it is
 * not mistaken for a complete one.
 */
export async function ndjsonResponse(items: AsyncGenerator<unknown>, request: StreamedRequest): Promise<Response> {
  // A cut body cannot be resumed, so it is finished while the service ends.
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

/** Does the work, and reports its failure unless the reader was cut off. */
async function reporting<Value>({ raw, settings }: StreamedRequest, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted) problemOf(error, reportedRequest(raw), settings.report);
    throw error;
  }
}

/** How long a reader has to read the end of a cut body, in milliseconds. Then its connection is closed. */
const UNREAD_MS = 5_000;

interface BodySource {
  /** Returns the next bytes when the reader has room for them; undefined at the end. Rejects to break the body off. */
  next: () => Promise<Uint8Array | undefined>;
  /** Called once, however the body ends. */
  over: () => void;
  /** Aborted when the body has to end. `next` should then end as well. */
  signal?: AbortSignal | undefined;
  unreadMs?: number;
}

/**
 * Returns a body whose bytes are pulled when the reader has room for them. A reader that does not read pulls nothing, so it would
 * keep its connection and its slot indefinitely: once the signal is aborted, it has some seconds to read the end.
 */
export function pulledBody({ next, over, signal, unreadMs = UNREAD_MS }: BodySource): ReadableStream<Uint8Array> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let cut = (): void => undefined;
  const finish = (): boolean => {
    if (isOver) return false;
    isOver = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', cut);
    over();
    return true;
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        cut = (): void => {
          timer = setTimeout(() => {
            if (finish()) controller.error(new StreamCutError());
          }, unreadMs).unref();
        };
        if (signal?.aborted) cut();
        else signal?.addEventListener('abort', cut, { once: true });
      },
      async pull(controller) {
        try {
          const bytes = await next();
          if (isOver) return;
          if (bytes !== undefined) return controller.enqueue(bytes);
          if (finish()) controller.close();
        } catch {
          if (finish()) controller.error(new StreamCutError());
        }
      },
      cancel() {
        finish();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * The error of a body that breaks off, of the type that clients recognize as a broken connection. The server that sends the body may print
 * it, so it has no cause and no stack: the failure is reported separately.
 */
class StreamCutError extends TypeError {
  override readonly name = 'StreamCutError';

  constructor() {
    super('network error: the stream was cut');
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** The interval at which the credentials of a stream are verified again. */
const AGAIN_MS = 30_000;

/** A stream that is open. */
interface VerifiedStream {
  request: Request;
  authenticate: Authenticate;
  /** The caller when the stream was opened. */
  caller: Caller;
  /** Aborted when the reader has gone, or the stream ends. */
  signal: AbortSignal;
  /** The scope that the caller needs. Default `runs:read`. */
  scope?: Scope;
}

/**
 * Returns a signal that is aborted with `signal`, and with an `unauthenticated` error when the stream's credentials expire or are no
 * longer accepted: they are verified again every 30 seconds, so that a revoked key reads no further. A failed verification is not a
 * rejection. The timers continue until `signal` is aborted: abort it when the stream ends. They do not keep the process alive.
 */
export function untilRefused({ request, authenticate, caller, signal, scope = 'runs:read' }: VerifiedStream): AbortSignal {
  const refusal = new AbortController();
  const ended = AbortSignal.any([untilExpiry(caller, signal), refusal.signal]);
  if (ended.aborted) return ended;
  let timer: NodeJS.Timeout;
  const wait = (): void => void (timer = setTimeout(() => void verify(), AGAIN_MS).unref());
  const verify = async (): Promise<void> => {
    if (!(await isStillAccepted(request, authenticate, caller, scope))) refusal.abort(wrongCredentials());
    else if (!ended.aborted) wait();
  };
  wait();
  ended.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return ended;
}

async function isStillAccepted(request: Request, authenticate: Authenticate, before: Caller, scope: Scope): Promise<boolean> {
  try {
    const now = await authenticate(request);
    return now !== undefined && now.id === before.id && haveSamePrincipal(now, before) && hasScope(now, scope);
  } catch {
    return true;
  }
}

/**
 * Returns a signal that is aborted with `signal`, and with an `unauthenticated` error when the caller's credentials expire. The timer
 * continues until `signal` is aborted: abort it when the stream ends. It does not keep the process alive.
 */
export function untilExpiry({ expiresAt }: Pick<Caller, 'expiresAt'>, signal: AbortSignal): AbortSignal {
  if (expiresAt === undefined || signal.aborted) return signal;
  const expiry = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    const left = expiresAt - Date.now();
    // A longer timer would fire at once. A time that is not a number counts as past.
    if (left > 0) timer = setTimeout(wait, Math.min(left, MAX_TIMER_MS)).unref();
    else end(wrongCredentials());
  };
  const end = (reason: unknown): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', forward);
    expiry.abort(reason);
  };
  const forward = (): void => end(signal.reason);
  signal.addEventListener('abort', forward);
  wait();
  return expiry.signal;
}
