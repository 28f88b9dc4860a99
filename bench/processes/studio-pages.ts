import type { PagesReply, PagesRequest } from '../studio/load.ts';
import { answerRequests, endAfter, readSetting } from '../../test/processes/program.ts';

// What open pages ask the service for, without a browser, whose work is that of another machine: each follows all runs, shows the one that it
// is told of, and reads what a page reads again when a run begins to wait or ends.

const { url, pages } = readSetting<{ url: string; pages: number }>();
let open: AbortController | undefined;
let messages = 0;

/** Yields the data of the messages of a stream. */
async function* follow(path: string, signal: AbortSignal): AsyncGenerator<{ type: string }> {
  const response = await fetch(`${url}${path}`, { headers: { accept: 'text/event-stream' }, signal });
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>) ?? []) {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice('data: '.length)) as { type: string };
    }
  }
}

async function read(path: string, signal: AbortSignal): Promise<void> {
  await (await fetch(`${url}${path}`, { signal })).text();
}

async function showRun(runId: string, signal: AbortSignal): Promise<void> {
  const path = `/v1/runs/${encodeURIComponent(runId)}`;
  const facts = (): Promise<unknown> => Promise.all([path, `${path}/tree`, `${path}/timeline`].map((one) => read(one, signal)));
  await facts();
  for await (const _ of follow(`${path}/stream`, signal)) messages += 1;
  await facts();
}

async function showAll(signal: AbortSignal, opened: () => void): Promise<void> {
  const following = follow('/v1/feed', signal);
  setTimeout(opened, 500);
  for await (const item of following) {
    messages += 1;
    if (item.type !== 'started') await ignoreEnd(read('/v1/approvals?limit=200', signal));
  }
}

async function ignoreEnd(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (open !== undefined && !open.signal.aborted) throw error;
  });
}

answerRequests<PagesRequest, PagesReply>({
  open: async () => {
    const closing = (open = new AbortController());
    await Promise.all(
      Array.from({ length: pages }, () => new Promise<void>((resolve) => void ignoreEnd(showAll(closing.signal, resolve)))),
    );
    return { type: 'opened' };
  },
  show: ({ runId }) => {
    const { signal } = open ?? new AbortController();
    for (let page = 0; page < pages; page += 1) void ignoreEnd(showRun(runId, signal));
    return { type: 'shown' };
  },
  close: () => {
    open?.abort();
    return { type: 'closed', messages };
  },
  stop: endAfter(async () => open?.abort()),
});
