import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedItem, Timeline } from '../../studio/api-types.ts';
import { movedRuns } from '../../studio/listing.ts';
import { dueIn, FIRST_PAGES, type Reading, settledPages, withFirstStatus } from '../../studio/pace.ts';
import type { PagesReply, PagesRequest } from '../studio/load.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';

// The requests of open pages to the service, without a browser, whose work belongs to another machine: each page follows all runs, shows
// the run that it is notified of, and rereads what a page rereads, by the page's own rules (`studio/pace.ts`, `studio/listing.ts`).

const { url, pages } = readSetting<{ url: string; pages: number }>();
let open: AbortController | undefined;
let [events, requests, cpuBefore] = [0, 0, process.cpuUsage()];

/** The pages that show the run, until each has seen its end and read its last facts. */
let shown: Promise<unknown> = Promise.resolve();

/** The errors of pages: a figure with fewer readers would be invalid. */
let failure: { cause: unknown } | undefined;

/** The part of a stream's item that makes a page decide what to reread. */
interface Item {
  type: string;
  status?: string;
  result?: { status: string };
  run?: { runId: string };
}

/** The pause before a stream that was cut is opened again, in milliseconds. */
const OPENED_AGAIN_AFTER = 500;

/** Yields the items of a stream until its end, also over cuts. `opened` is called when it is open for the first time. */
async function* follow(path: string, signal: AbortSignal, opened: () => void = () => undefined): AsyncGenerator<Item> {
  let cursor: string | undefined;
  for (;;) {
    const headers = { accept: 'text/event-stream', ...(cursor === undefined ? {} : { 'last-event-id': cursor }) };
    const response = await get(`${url}${path}`, { headers, signal });
    opened();
    let rest = '';
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        cursor = fieldOf(block, 'id') ?? cursor;
        const type = fieldOf(block, 'event');
        if (type === undefined) continue;
        const data = fieldOf(block, 'data') ?? '';
        if (type === 'problem') throw new Error(`The stream ${path} has a problem: ${data}`);
        yield SAYS_MORE.has(type) ? (JSON.parse(data) as Item) : { type };
        if (type === 'end') return;
      }
    }
    await sleep(OPENED_AGAIN_AFTER, undefined, { signal });
  }
}

/**
 * The items that a page reads more of than the type. All other work of a page belongs to another machine, but would be in the figures of
 * this one.
 */
const SAYS_MORE: ReadonlySet<string> = new Set(['status', 'end', 'started', 'waiting', 'decided', 'ended']);

/** Returns a field of a block of a stream. */
function fieldOf(block: string, name: string): string | undefined {
  const start = `\n${block}`.indexOf(`\n${name}: `);
  if (start < 0) return undefined;
  const end = block.indexOf('\n', start);
  return block.slice(start + name.length + 2, end < 0 ? undefined : end);
}

const agent = new Agent({ keepAlive: true });

/** Sends a request. A browser sends it again, too, if the connection that it has kept was closed at this moment. Throws for a refusal. */
async function get(address: string, options: RequestOptions): Promise<IncomingMessage> {
  requests += 1;
  const send = async (): Promise<IncomingMessage> => {
    const [response] = (await once(request(address, { ...options, agent }).end(), 'response')) as [IncomingMessage];
    return response;
  };
  const response = await send().catch((error: unknown) => {
    if (options.signal?.aborted) throw error;
    return send();
  });
  if (response.statusCode !== 200) throw new Error(`${address} has answered with ${response.statusCode}: ${await text(response)}`);
  return response;
}

async function read<Body>(path: string, signal: AbortSignal): Promise<Body> {
  return JSON.parse(await text(await get(`${url}${path}`, { signal }))) as Body;
}

/** Reads as many pages of the timeline as the page itself does, after the pages that are kept. */
async function readTimeline(path: string, before: readonly Timeline[], signal: AbortSignal): Promise<Timeline[]> {
  const all = [...before];
  for (let from = all.length === 0 ? 0 : all.at(-1)?.next; all.length < FIRST_PAGES && from !== undefined; from = all.at(-1)?.next)
    all.push(await read<Timeline>(`${path}/timeline?from=${from}`, signal));
  return all;
}

/** Shows a run until its end, and until the last facts of it are read. */
async function showRun(runId: string, signal: AbortSignal): Promise<void> {
  const path = `/v1/runs/${encodeURIComponent(runId)}`;
  const seen = { runId, status: '', answers: 0 };
  let known: Reading = { ...seen, endedAt: 0, ms: 0 };
  let timer: NodeJS.Timeout | undefined;
  let reading: { work: Promise<void>; given: AbortController } | undefined;
  // As in a page: a read replaces the previous one, and changes during a read are handled when it has ended.
  let timeline: { status: string; pages: readonly Timeline[]; readings: number } = { status: '', pages: [], readings: 0 };
  const readFacts = async (given: AbortSignal): Promise<void> => {
    const begunAt = Date.now();
    const now = seen.status;
    const { pages: taken = [], readings = 0 } = timeline.status === now ? timeline : {};
    const before = settledPages(taken, readings);
    const [all] = await Promise.all([readTimeline(path, before, given), read(path, given), read(`${path}/tree`, given)]);
    timeline = { status: now, pages: all, readings: readings + 1 };
    known = { ...known, endedAt: Date.now(), ms: Date.now() - begunAt };
    look();
  };
  const begin = (): void => {
    reading?.given.abort();
    known = { ...known, ...seen, endedAt: undefined };
    const given = new AbortController();
    const work = readFacts(AbortSignal.any([given.signal, signal])).catch((cause: unknown) => {
      if (!given.signal.aborted && !signal.aborted) failure = { cause };
    });
    reading = { work, given };
  };
  const look = (): void => {
    known = withFirstStatus(known, seen);
    const due = dueIn(known, seen, Date.now());
    if (due === undefined) return;
    clearTimeout(timer);
    timer = setTimeout(begin, due);
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  begin();
  for await (const { type, status, result } of follow(`${path}/stream`, signal)) {
    if (type === 'event') events += 1;
    if (type === 'step') seen.answers += 1;
    seen.status = result?.status ?? status ?? seen.status;
    look();
  }
  // The status is another one by now: if the last facts are not read yet, they are due at once.
  clearTimeout(timer);
  if (dueIn(known, seen, Date.now()) !== undefined) begin();
  await reading?.work;
}

async function showAll(signal: AbortSignal, opened: () => void): Promise<void> {
  void noted(read('/v1/approvals?limit=200', signal), signal);
  for await (const item of follow('/v1/feed', signal, opened)) {
    // Nothing waits in these runs, so that no approval is shown.
    for (const runId of movedRuns([item as FeedItem], [])) await read(`/v1/runs/${encodeURIComponent(runId)}/approvals`, signal);
  }
}

/** Records the error of a page, unless the page is closed. */
async function noted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  await work.catch((cause: unknown) => {
    if (!signal.aborted) failure = { cause };
  });
}

answerRequests<PagesRequest, PagesReply>({
  open: async () => {
    [events, requests, failure, cpuBefore] = [0, 0, undefined, process.cpuUsage()];
    const { signal } = (open = new AbortController());
    await Promise.all(
      Array.from({ length: pages }, () => {
        const opened = Promise.withResolvers<void>();
        return Promise.race([opened.promise, noted(showAll(signal, opened.resolve), signal)]);
      }),
    );
    return { type: 'opened' };
  },
  show: ({ runId }) => {
    const { signal } = open ?? new AbortController();
    shown = Promise.all(Array.from({ length: pages }, () => noted(showRun(runId, signal), signal)));
    return { type: 'shown' };
  },
  close: async () => {
    await shown;
    open?.abort();
    if (failure !== undefined) throw new Error('A page has failed', failure);
    const { user, system } = process.cpuUsage(cpuBefore);
    return { type: 'closed', events, requests, cpuMs: (user + system) / 1_000 };
  },
  stop: endAfter(async () => open?.abort()),
});
