import { fileURLToPath } from 'node:url';
import type { LonghaulClient } from '../../src/client/index.ts';
import { createHandler, type HandlerOptions } from '../../src/server/index.ts';
import { listen } from '../../src/server/node-server.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { weighChain } from '../figures/chain-history.ts';
import { median, rounded } from '../figures/statistics.ts';

const PROGRAM = fileURLToPath(new URL('../processes/studio-pages.ts', import.meta.url));

/** Pages that are open at once. */
const PAGES = 20;

/** Rounds of which the median counts, and the runs of each that nobody watches and that all pages watch, by turns. */
const ROUNDS = 3;
const TURNS = 4;

/** The figures of `--part load`. */
export interface LoadFigures {
  pages: number;
  msPerCall: number;
  msPerCallWatched: number;
  ratio: number;
  /** Events of the history of a watched run beyond those of one that nobody watches. */
  eventsAdded: number;
  /** What the pages have received, so that one knows that they have watched. */
  messages: number;
}

interface LoadedService {
  client: LonghaulClient;
  handlerOptions: HandlerOptions;
  start: () => Promise<{ runId: string; result(): Promise<unknown> }>;
  /** The calls of a run. */
  calls: number;
}

/** Measures runs in the process of their service, with and without pages that show them. The pages are a process of their own. */
export async function measureLoad({ client, handlerOptions, start, calls }: LoadedService): Promise<LoadFigures> {
  const server = await listen(createHandler(client, { ...handlerOptions, limits: false }), { host: '127.0.0.1', port: 0 });
  const pages = new ProgramProcess<PagesRequest, PagesReply>(PROGRAM, { url: server.url, pages: PAGES });
  await pages.start();
  try {
    // The first runs load what all need.
    await timed(start);
    const [alone, watched]: [number[], number[]] = [[], []];
    let [events, eventsWatched, messages] = [0, 0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      const [one, other]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < TURNS; turn += 1) {
        const without = await timed(start);
        await pages.ask({ type: 'open' }, 'opened');
        const withPages = await timed(start);
        ({ messages } = await pages.ask({ type: 'close' }, 'closed'));
        one.push(without.ms / calls);
        other.push(withPages.ms / calls);
        events = (await weighChain(client.temporal, without.runId, 'callModel')).events;
        eventsWatched = (await weighChain(client.temporal, withPages.runId, 'callModel')).events;
      }
      alone.push(median(one));
      watched.push(median(other));
    }
    return {
      pages: PAGES,
      msPerCall: rounded(median(alone), 2),
      msPerCallWatched: rounded(median(watched), 2),
      ratio: rounded(median(watched) / median(alone), 3),
      eventsAdded: eventsWatched - events,
      messages,
    };
  } finally {
    await pages.stop();
    await server.close(0);
  }
}

/** What the process with the pages is asked for. */
export type PagesRequest = { type: 'open' } | { type: 'close' } | { type: 'stop' };
export type PagesReply = { type: 'ready' } | { type: 'opened' } | { type: 'closed'; messages: number };

async function timed(start: LoadedService['start']): Promise<{ ms: number; runId: string }> {
  const began = performance.now();
  const run = await start();
  await run.result();
  return { ms: performance.now() - began, runId: run.runId };
}
