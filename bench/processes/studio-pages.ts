import type { FeedItem } from '../../studio/api-types.ts';
import { movedRuns } from '../../studio/listing.ts';
import { dueIn } from '../../studio/pace.ts';
import type { PagesReply, PagesRequest } from '../studio/load.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';

// What open pages ask the service for, without a browser, whose work is that of another machine: each follows all runs, shows the one that it
// is told of, and reads again what a page reads again, by the rules of the page itself (`studio/pace.ts`, `studio/listing.ts`).

const { url, pages } = readSetting<{ url: string; pages: number }>();
let open: AbortController | undefined;
let [messages, requests, cpuBefore] = [0, 0, process.cpuUsage()];

/** An item of a stream, as far as a page decides by it what it reads again. */
interface Item {
  type: string;
  status?: string;
  result?: { status: string };
  run?: { runId: string };
}

/** Yields the data of the messages of a stream. */
async function* follow(path: string, signal: AbortSignal): AsyncGenerator<Item> {
  const response = await get(`${url}${path}`, { headers: { accept: 'text/event-stream' }, signal });
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>) ?? []) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice('data: '.length)) as Item;
    }
  }
}

/** Sends a request. A browser sends it again, too, if the connection that it has kept was closed at this moment. */
async function get(address: string, init: RequestInit): Promise<Response> {
  requests += 1;
  return fetch(address, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    return fetch(address, init);
  });
}

async function read(path: string, signal: AbortSignal): Promise<void> {
  await (await get(`${url}${path}`, { signal })).text();
}

async function showRun(runId: string, signal: AbortSignal): Promise<void> {
  const path = `/v1/runs/${encodeURIComponent(runId)}`;
  const facts = (): Promise<unknown> =>
    ignoreEnd(Promise.all([path, `${path}/tree`, `${path}/timeline`].map((one) => read(one, signal))), signal);
  void facts();
  let known = { status: '', answers: 0, at: 0 };
  const seen = { status: '', answers: 0 };
  let timer: NodeJS.Timeout | undefined;
  for await (const { type, status, result } of follow(`${path}/stream`, signal)) {
    messages += 1;
    if (type === 'step') seen.answers += 1;
    seen.status = result?.status ?? status ?? seen.status;
    const due = dueIn(known, seen, Date.now());
    if (due === undefined) continue;
    clearTimeout(timer);
    timer = setTimeout(() => {
      known = { ...seen, at: Date.now() };
      void facts();
    }, due);
  }
}

async function showAll(signal: AbortSignal, opened: () => void): Promise<void> {
  const following = follow('/v1/feed', signal);
  void ignoreEnd(read('/v1/approvals?limit=200', signal), signal);
  setTimeout(opened, 500);
  for await (const item of following) {
    messages += 1;
    // Nothing waits in these runs, so that no approval is shown.
    for (const runId of movedRuns([item as FeedItem], [])) {
      await ignoreEnd(read(`/v1/runs/${encodeURIComponent(runId)}/approvals`, signal), signal);
    }
  }
}

/** Takes the error of what its page has given up. */
async function ignoreEnd(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  await work.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

answerRequests<PagesRequest, PagesReply>({
  open: async () => {
    [messages, requests, cpuBefore] = [0, 0, process.cpuUsage()];
    const closing = (open = new AbortController());
    await Promise.all(
      Array.from({ length: pages }, () => new Promise<void>((resolve) => void ignoreEnd(showAll(closing.signal, resolve), closing.signal))),
    );
    return { type: 'opened' };
  },
  show: ({ runId }) => {
    const { signal } = open ?? new AbortController();
    for (let page = 0; page < pages; page += 1) void ignoreEnd(showRun(runId, signal), signal);
    return { type: 'shown' };
  },
  close: () => {
    open?.abort();
    const { user, system } = process.cpuUsage(cpuBefore);
    return { type: 'closed', messages, requests, cpuMs: (user + system) / 1_000 };
  },
  stop: endAfter(async () => open?.abort()),
});
