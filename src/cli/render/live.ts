import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import { outputText } from '../../core/domain/content.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { isJsonObject, parsedJson } from '../../core/domain/json.ts';
import { type Event, isResponse } from '../../core/domain/record.ts';
import { printable } from '../../core/domain/text.ts';
import { sleep } from '../../temporal/waiting.ts';
import type { Output } from '../output.ts';

/** Milliseconds without output after which a waiting person is told that the run is working. */
export const SILENCE_MS = 3_000;

export function responseText({ content }: Pick<Event, 'content'>): string {
  return content.map((item) => (item.type === 'message' ? outputText(item.content) : '')).join('');
}

/** The text of a run on a terminal while its result is awaited. */
export class LiveRun {
  readonly #text: LiveText;
  /** The text of the newest response, if it was written in full. */
  #written: string | undefined;

  constructor(output: Pick<Output, 'write'>) {
    this.#text = new LiveText((text) => output.write(text));
  }

  /** Writes the text of the run as it streams. Rejects only if the items do. */
  async follow(items: AsyncIterable<StreamItemContent>): Promise<void> {
    for await (const item of items) {
      this.#text.take(item);
      if (item.type === 'event' && isResponse(item.event)) this.#settle(item.event.id, responseText(item.event));
    }
  }

  /** Ends the text. True if the output of the run was already written. */
  finish(output: string): boolean {
    const { eventId } = this.#text;
    if (eventId !== undefined) this.#settle(eventId, output);
    this.#text.endLine();
    return output !== '' && this.#written === output;
  }

  #settle(eventId: string, text: string): void {
    this.#written = this.#text.settle(eventId, text) ? text : undefined;
    this.#text.goOn();
  }
}

/**
 * Shows a model's text on a terminal while it is written, before its event is recorded. Texts appear in the order of their events: a text
 * waits for `goOn` until the event of the previous text, and what follows it, was shown.
 */
export class LiveText {
  readonly #write: (text: string) => void;
  #open: { eventId: string; text: string } | undefined;
  /** True from the end of a text until the caller has shown what follows it. */
  #isPaused = false;
  readonly #waiting: { eventId: string; text: string }[] = [];
  /** The events that were shown: late pieces of them are left out. */
  readonly #shown = new Set<string>();

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** The event whose text is being written. */
  get eventId(): string | undefined {
    return this.#open?.eventId;
  }

  /** Takes the next item of a stream. True if it is text of an answer: calls of tools, and steps of programs, are shown with their results. */
  take(item: StreamItemContent): boolean {
    if (item.type === 'reset' && item.callId === undefined) this.reset();
    if (item.type !== 'delta' || item.delta.type !== 'text' || item.callId !== undefined) return false;
    this.add(item.eventId, item.delta.text);
    return true;
  }

  /** Writes a piece of the text that an event will hold. */
  add(eventId: string, text: string): void {
    if (this.#shown.has(eventId)) return;
    if (this.#open === undefined ? this.#isPaused : this.#open.eventId !== eventId) {
      const last = this.#waiting.at(-1);
      if (last?.eventId === eventId) last.text += text;
      else this.#waiting.push({ eventId, text });
      return;
    }
    this.#open ??= { eventId, text: '' };
    this.#open.text += text;
    this.#write(printable(text));
  }

  /** Discards text that no event holds yet: the model is called again. */
  reset(): void {
    this.#waiting.length = 0;
    if (this.#open === undefined) return;
    this.#open = undefined;
    this.#write(' … (the answer begins again)\n');
  }

  /**
   * Ends the text of an event whose whole text is known. True if it was written; false if the caller has to show it, because nothing or
   * something else was written. Call `goOn` once everything before the next text is shown.
   */
  settle(eventId: string, text: string): boolean {
    this.#shown.add(eventId);
    this.#isPaused = true;
    const open = this.#open;
    if (open === undefined) return false;
    const isOwn = open.eventId === eventId;
    // Another event may be shown in between, such as one about a decision.
    if (!isOwn && !this.#waiting.some((one) => one.eventId === eventId)) return false;
    this.#open = undefined;
    const isWritten = isOwn && text.startsWith(open.text);
    this.#write(isWritten ? `${printable(text.slice(open.text.length))}\n` : '\n');
    return isWritten;
  }

  /** Ends a begun line, before something else is shown. */
  endLine(): void {
    if (this.#open === undefined) return;
    this.#shown.add(this.#open.eventId);
    this.#open = undefined;
    this.#write('\n');
  }

  /** Writes the waiting texts. */
  goOn(): void {
    this.#isPaused = false;
    if (this.#open !== undefined) return;
    const waiting = this.#waiting.splice(0);
    for (const { eventId, text } of waiting) this.add(eventId, text);
  }
}

/** The HTTP service of `longhaul dev` and `longhaul serve` on this machine. */
const USUAL_SERVICE = 'http://127.0.0.1:8787';

/** Milliseconds before a cut stream is read again. */
const AGAIN_MS = 1_000;

/** The longest message of a stream in characters. A longer one is not for a terminal. */
const MOST_CHARS = 4_000_000;

/** A service that streams models' answers as they are written. */
export interface LiveService {
  url: string;
  /** The credentials to send to it. */
  token?: string | undefined;
}

/**
 * Returns the service that may stream the runs of a Temporal server: the one in `LONGHAUL_SERVICE`, with the credentials in
 * `LONGHAUL_SERVICE_TOKEN`, or the usual one next to a server on this machine. Undefined for `LONGHAUL_SERVICE=none`, and for another server.
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
 * Yields the items of a run's stream, from a service. Ends at once, without an error, if the service is not there or does not have the
 * run: live text is optional. Then `onMissing` is called with the reason. A stream that is cut is read again.
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
      // A redirect could send the credentials to another host.
      const response = await fetch(`${url}/v1/runs/${encodeURIComponent(runId)}/stream${place}`, { headers, signal, redirect: 'error' });
      if (response.status !== 200 || !response.body) {
        if (cursor === undefined) onMissing(serviceRefusal(url, response.status));
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

/** Returns why a service answers but does not stream. */
function serviceRefusal(url: string, status: number): string {
  if (status === 401 || status === 403)
    return `the service at ${url} answers ${status}: set LONGHAUL_SERVICE_TOKEN to credentials that may read runs`;
  if (status === 404) return `the service at ${url} does not have the run: it may be connected to another Temporal server`;
  return `the service at ${url} answers ${status}`;
}

/** Returns the code of a failed connection, or else the message. */
function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : errorMessage(error);
}

/** Yields the items of an event stream. Nothing in it is trusted: invalid items are left out. */
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
  const item = parsedJson(data);
  return isJsonObject(item) && typeof item['type'] === 'string' ? (item as StreamItemContent & typeof item) : undefined;
}
