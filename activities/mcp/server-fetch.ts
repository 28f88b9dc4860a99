import { isJsonObject } from '../../src/core/domain/json/json.ts';
import type { ServerMessages } from './server-messages.ts';

/** The most bytes of one message of a server: as many as the client accepts from a process. Results are cut far below. */
export const MAX_MESSAGE_BYTES = 10_000_000;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * Returns a `fetch` for a server: the messages in its answers are read before the client package sees them, and bounded: of the whole
 * answer, or of each event of an event stream. A larger one is aborted.
 */
export function serverFetch(messages: Pick<ServerMessages, 'read'>): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { status, statusText } = response;
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.trim().toLowerCase().startsWith('text/event-stream') === true;
    const body = response.body.pipeThrough(bounded(isStream));
    // The text of an event and its length are others than those that the server has sent.
    const headers = new Headers(response.headers);
    headers.delete('content-length');
    headers.delete('content-encoding');
    if (isStream)
      return new Response(
        body.pipeThrough(new TextDecoderStream()).pipeThrough(eventLines(messages)).pipeThrough(new TextEncoderStream()),
        { status, statusText, headers },
      );
    if (!response.ok || init?.method !== 'POST') return new Response(body, { status, statusText, headers });
    const given = await new Response(body).text();
    const text = given.trim() === '' ? given : messages.read(given, requestIn(init));
    if (isMessage(text)) headers.set('content-type', 'application/json');
    return new Response(text, { status, statusText, headers });
  };
}

/** True for the JSON of a message, which some servers send as another type of content. */
function isMessage(text: string): boolean {
  return text.startsWith('{"jsonrpc"') || text.startsWith('[{"jsonrpc"');
}

/** Returns the id of the request that a POST carries. */
function requestIn({ body }: RequestInit): string | number | undefined {
  if (typeof body !== 'string') return undefined;
  const message: unknown = JSON.parse(body);
  const id = isJsonObject(message) ? message['id'] : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Rewrites the data of the events of a stream. Reads each piece once, however long the line is. */
function eventLines(messages: Pick<ServerMessages, 'read'>): TransformStream<string, string> {
  let line: string[] = [];
  let event: string[] = [];
  let endsWithReturn = false;
  const endLine = (controller: TransformStreamDefaultController<string>): void => {
    const text = line.join('');
    line = [];
    if (text !== '') {
      event.push(text);
      return;
    }
    if (event.length > 0) controller.enqueue(`${readEvent(event, messages).join('\n')}\n\n`);
    event = [];
  };
  return new TransformStream({
    transform(chunk, controller) {
      const text = endsWithReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
      endsWithReturn = chunk.endsWith('\r');
      const parts = text.split(/\r\n|\n|\r/);
      parts.forEach((part, index) => {
        if (part !== '') line.push(part);
        if (index < parts.length - 1) endLine(controller);
      });
    },
    // Some servers leave out the blank line behind the last event.
    flush(controller) {
      if (line.length > 0) endLine(controller);
      if (event.length > 0) endLine(controller);
    },
  });
}

function readEvent(lines: readonly string[], messages: Pick<ServerMessages, 'read'>): string[] {
  const isData = (line: string): boolean => line === 'data' || line.startsWith('data:');
  const kind = lines
    .findLast((line) => line.startsWith('event:'))
    ?.slice('event:'.length)
    .trim();
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''));
  if (data.length === 0 || (kind !== undefined && kind !== '' && kind !== 'message')) return [...lines];
  return [
    ...lines.filter((line) => !isData(line)),
    ...messages
      .read(data.join('\n'))
      .split('\n')
      .map((line) => `data: ${line}`),
  ];
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
