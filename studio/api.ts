import { signal } from '@preact/signals';
import type { Operations, Problem } from './api-types.ts';
import { pause } from './pace.ts';
import { randomText } from './random.ts';

// Everything that the page knows, it asks the service for, by the routes of the OpenAPI document and no others.

/** The path of the service before its routes: the page is at `/studio` behind it. */
export const BASE = location.pathname.replace(/\/studio\/?$/, '');

const KEPT = 'longhaul-studio-key';

/** The API key or token of the reader: in the memory of the tab, and in its session storage if the reader asks for that. */
let credentials = sessionStorage.getItem(KEPT) ?? undefined;

/** True once the service has refused a request for want of credentials. */
export const needsKey = signal(false);

/** What goes wrong with the connection, for the reader: the service does not answer, or it has lost Temporal. Empty if nothing does. */
export const connection = signal<'' | 'lost' | 'withoutTemporal'>('');

export function hasKey(): boolean {
  return credentials !== undefined;
}

/** Takes the credentials of the reader; undefined forgets them. */
export function takeKey(key: string | undefined, { keep }: { keep: boolean }): void {
  credentials = key;
  unanswered.clear();
  if (key !== undefined && keep) sessionStorage.setItem(KEPT, key);
  else sessionStorage.removeItem(KEPT);
  needsKey.value = key === undefined;
}

/** A refusal of the service. */
export class Refused extends Error {
  readonly problem: Pick<Problem, 'code' | 'detail' | 'status'> & Partial<Problem>;

  constructor(problem: Refused['problem']) {
    super(problem.detail);
    this.problem = problem;
  }
}

type Name = keyof Operations;
type Part<Of extends Name, Key extends string> = Operations[Of] extends { [K in Key]: infer Value } ? Value : undefined;
type QueryOf<Of extends Name> = Operations[Of] extends { query: infer Query } ? { query?: Query } : object;
type BodyOf<Of extends Name> = Operations[Of] extends { body: infer Body } ? { body: Body } : object;
type ParamsOf<Of extends Name> = keyof Part<Of, 'params'> extends never ? object : { params: Part<Of, 'params'> };

/** The parts of a request of an operation. */
export type RequestOf<Of extends Name> = ParamsOf<Of> & QueryOf<Of> & BodyOf<Of> & { signal?: AbortSignal };

interface AnyRequest {
  params?: object;
  query?: object;
  body?: unknown;
  signal?: AbortSignal;
}

/** Sends a request, and returns the body of its answer. Throws Refused. */
export async function ask<Of extends Name>(name: Of, request: RequestOf<Of>): Promise<Operations[Of]['answer']> {
  const { body, signal: until } = request as AnyRequest;
  const [method = 'GET'] = name.split(' ');
  const url = pathOf(name, request as AnyRequest);
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = { accept: 'application/json', ...(text === undefined ? {} : { 'content-type': 'application/json' }) };
  const init = { method, headers, body: text, signal: until };
  const answer = await (method === 'GET' ? send(url, init).then((response) => response.json()) : sendOnce(url, init));
  connection.value = '';
  return answer as Operations[Of]['answer'];
}

/** A change that the service has not answered: its idempotency key, and when the page knew that it has lost the answer. */
interface Unanswered {
  key: string;
  lostAt: number;
}

const unanswered = new Map<string, Unanswered>();

/** Milliseconds in which a reader who makes the same change again means the one whose answer was lost. Later it is another one. */
const MEANT_AGAIN_WITHIN = 60_000;

/** The changes that decide how a run continues, of which the latest wins. */
const SETS_RUN = /^\S+ (\S*\/v1\/(?:runs|sessions)\/[^/ ]+)\/(?:permissions|limits|pause|resume) /;

/**
 * Sends a change, and returns the body of its answer. One whose answer is lost, or cut, may be sent again by the browser or by the reader: the
 * service takes it once.
 */
async function sendOnce(url: string, init: SentRequest & { method: string; body: string | undefined }): Promise<unknown> {
  const change = `${init.method} ${url} ${init.body}`;
  const before = unanswered.get(change);
  const isMeant = before !== undefined && Date.now() - before.lostAt < MEANT_AGAIN_WITHIN;
  const key = isMeant ? before.key : randomText();
  // The answer is not lost as long as it may come.
  unanswered.set(change, { key, lostAt: Infinity });
  try {
    const response = await send(url, { ...init, headers: { ...init.headers, 'idempotency-key': key } });
    const answer: unknown = await response.json();
    unanswered.delete(change);
    forgetOvertaken(change);
    return answer;
  } catch (error) {
    if (!mayPass(error)) unanswered.delete(change);
    else unanswered.set(change, { key, lostAt: Date.now() });
    throw error;
  }
}

/** What a run was set to before is a change again: with the key of then, the service would answer and do nothing. */
function forgetOvertaken(change: string): void {
  const run = SETS_RUN.exec(change)?.[1];
  if (run === undefined) return;
  for (const other of unanswered.keys()) if (SETS_RUN.exec(other)?.[1] === run) unanswered.delete(other);
}

function pathOf(name: Name, { params = {}, query = {} }: AnyRequest): string {
  const [, path = ''] = name.split(' ');
  const whole = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(params[key as never])));
  const pairs = Object.entries(query as Record<string, unknown>).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString();
  return `${BASE}${whole}${text === '' ? '' : `?${text}`}`;
}

type SentRequest = Omit<RequestInit, 'headers'> & { headers: Record<string, string | undefined> };

async function send(url: string, init: SentRequest): Promise<Response> {
  const sentWith = credentials;
  const headers = new Headers(Object.entries(init.headers).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
  if (credentials !== undefined) headers.set('authorization', `Bearer ${credentials}`);
  const response = await reach(url, { ...init, headers, credentials: 'omit', redirect: 'error' });
  if (response.ok) return response;
  const problem = await problemIn(response);
  noteProblem(problem);
  // Those that the reader has given meanwhile were not asked about.
  if (problem.status === 401 && sentWith === credentials) needsKey.value = true;
  throw new Refused(problem);
}

/** A service that answers may still not reach its Temporal server. */
function noteProblem({ code }: { code: string }): void {
  connection.value = code === 'server_unreachable' ? 'withoutTemporal' : '';
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    connection.value = 'lost';
    throw new Refused({ code: 'server_unreachable', status: 0, detail: 'The service does not answer.' });
  }
}

async function problemIn(response: Response): Promise<Refused['problem']> {
  const { status } = response;
  try {
    const found = (await response.json()) as Problem;
    return { ...found, status };
  } catch {
    return { code: 'internal', status, detail: `The service has answered with ${status}.` };
  }
}

/** The streams of the service. */
type StreamName = 'GET /v1/feed' | 'GET /v1/runs/{runId}/stream' | 'GET /v1/sessions/{sessionId}/stream';

/** The service writes a comment every 15 s: a stream from which nothing comes for so many milliseconds was cut, and nobody has said so. */
const LONGEST_SILENCE = 45_000;

/** The longest pause before a stream that was cut is opened again, in milliseconds. */
const LONGEST_PAUSE = 10_000;

/**
 * Follows a stream to its end, also over cuts: it continues behind the last cursor. Items come in batches, as they have arrived. Throws Refused
 * for a refusal that does not pass by itself.
 */
export async function follow<Of extends StreamName>(
  name: Of,
  request: RequestOf<Of>,
  take: (items: Operations[Of]['answer'][]) => void,
): Promise<void> {
  const { signal: until } = request;
  let cursor: string | undefined;
  let failures = 0;
  let wasSilent = false;
  // oxlint-disable-next-line no-unmodified-loop-condition -- its owner aborts it.
  while (until?.aborted !== true) {
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': cursor };
      const response = await send(pathOf(name, request as AnyRequest), { method: 'GET', headers, signal: until });
      if (response.status === 204 || response.body === null) return;
      // A stream whose first message is a problem has not begun.
      if (connection.value === 'lost' && !wasSilent) connection.value = '';
      const end = await readEvents(response.body, (events) => {
        wasSilent = false;
        if (connection.value === 'lost') connection.value = '';
        if (events.length === 0) return;
        failures = 0;
        connection.value = '';
        cursor = events.findLast(({ id }) => id !== undefined)?.id ?? cursor;
        take(events.map(({ data }) => JSON.parse(data) as Operations[Of]['answer']));
      });
      if (end) return;
    } catch (error) {
      if (until?.aborted) return;
      if (!mayPass(error)) throw error;
      failures += 1;
      wasSilent = error instanceof Silent;
      if (error instanceof Refused && error.problem.status > 0) noteProblem(error.problem);
      else if (failures > 1) connection.value = 'lost';
    }
    await pause(Math.min(LONGEST_PAUSE, 500 * 2 ** Math.min(failures, 5)), until);
  }
}

/** True for an error that may be over when the request is sent again: whatever it has asked for may have been done. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof Refused)) return true;
  const { status } = error.problem;
  return status === 0 || status === 429 || status >= 500;
}

interface ServerEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Says that nothing comes from the service, although the connection seems to stand. */
class Silent extends Error {}

/** Reads what comes next. Throws Silent if nothing does. */
async function readInTime<Value>(reader: ReadableStreamDefaultReader<Value>): Promise<ReadableStreamReadResult<Value>> {
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    // The read ends with it.
    reader.cancel().catch(() => undefined);
  }, LONGEST_SILENCE);
  try {
    const read = await reader.read();
    if (isSilent) throw new Silent();
    return read;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads server-sent events until the stream is cut, and hands over none for a comment. True if its last item was the end. Throws Refused for an
 * event that is a problem.
 */
async function readEvents(body: ReadableStream<Uint8Array>, take: (events: ServerEvent[]) => void): Promise<boolean> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await readInTime(reader);
    if (done) return false;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    const events = blocks.map(eventOf).filter(({ data }) => data !== '');
    const problem = events.find(({ event }) => event === 'problem');
    const items = problem === undefined ? events : events.slice(0, events.indexOf(problem));
    // A comment says that the stream is still there.
    if (items.length > 0 || problem === undefined) take(items);
    if (problem !== undefined) throw new Refused(JSON.parse(problem.data) as Problem);
    if (items.some(({ event }) => event === 'end')) return true;
  }
}

function eventOf(block: string): ServerEvent {
  const found: ServerEvent = { id: undefined, event: '', data: '' };
  for (const line of block.split('\n')) {
    const colon = line.indexOf(': ');
    const [key, value] = [line.slice(0, colon), line.slice(colon + 2)];
    if (key === 'id') found.id = value;
    else if (key === 'event') found.event = value;
    else if (key === 'data') found.data += value;
  }
  return found;
}
