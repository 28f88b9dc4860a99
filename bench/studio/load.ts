import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { LonghaulClient } from '../../src/client/index.ts';
import { createHandler, type HandlerOptions } from '../../src/server/index.ts';
import { listen } from '../../src/server/node-server.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import { weighChain } from '../figures/encoded-history.ts';
import { serverCpuClock } from '../figures/machine.ts';
import { median, rounded } from '../figures/statistics.ts';

const PROGRAM = fileURLToPath(new URL('../processes/studio-pages.ts', import.meta.url));

/** Pages that are open at once. */
const PAGES = 20;

/**
 * The number of rounds for the median, and of pairs of runs per round: one that nobody watches, and one that all pages watch. Single runs
 * differ by a tenth without any page: with two pairs, the same code was measured with ratios from 0.95 to 1.14. The ratio of a round is the
 * median of its pairs' ratios, because other load of the machine changes within a round.
 */
const ROUNDS = 3;
const PAIRS = 6;

/** The figures of `--part load`. */
export interface LoadFigures {
  pages: number;
  msPerCall: number;
  msPerCallWatched: number;
  /** The median of the rounds. Each round is the median of its pairs. */
  ratio: number;
  /** What the process of service, worker and fake model computes per call, without what a busy machine adds: the part of the pages' work that reaches it. */
  cpuMsPerCall: number;
  cpuMsPerCallWatched: number;
  /** What the Temporal server computes per call; 0 where that cannot be read. */
  serverCpuMsPerCall: number;
  serverCpuMsPerCallWatched: number;
  /** What the pages compute per call of a run that they show: work of other machines, which has the lowest priority here. */
  pagesCpuMsPerCall: number;
  /** The requests of all pages in a run that they show: streams are one each. */
  requests: number;
  /** Events of the history of a watched run in addition to the events of an unwatched one. */
  eventsAdded: number;
  /** The least share of the run's events that the pages have received together: fewer than all would be fewer readers. */
  receivedPct: number;
}

interface LoadedService {
  client: LonghaulClient;
  /** The address of the Temporal server. */
  address: string;
  handlerOptions: HandlerOptions;
  start: () => Promise<{ runId: string; result(): Promise<unknown> }>;
  /** The calls of a run. */
  calls: number;
  /** Forgets the requests of the fake model: the requests of a run of a thousand steps have a hundred megabytes. */
  forget: () => void;
}

/** Measures runs in the process of their service, with and without pages that show them. The pages are a separate process. */
export async function measureLoad({ client, address, handlerOptions, start, calls, forget }: LoadedService): Promise<LoadFigures> {
  const server = await listen(createHandler(client, { ...handlerOptions, limits: false }), { host: '127.0.0.1', port: 0 });
  const pages = new ProgramProcess<PagesRequest, PagesReply>(PROGRAM, { url: server.url, pages: PAGES });
  await pages.start();
  // Their browsers are other machines: their work must not take processors from the run.
  setPriority(pages.pid, constants.priority.PRIORITY_LOW);
  const serverClock = serverCpuClock(address) ?? ((): number => 0);
  let [receivedPct, requests, pagesCpuMs] = [100, 0, 0];
  const measured = async (isWatched: boolean): Promise<Timed & { events: number }> => {
    if (isWatched) await pages.ask({ type: 'open' }, 'opened');
    const began = performance.now();
    const before = process.cpuUsage();
    const serverBefore = serverClock();
    const run = await start();
    if (isWatched) await pages.ask({ type: 'show', runId: run.runId }, 'shown');
    await run.result();
    const ms = performance.now() - began;
    const { user, system } = process.cpuUsage(before);
    const serverMs = serverClock() - serverBefore;
    if (isWatched) {
      const closed = await pages.ask({ type: 'close' }, 'closed');
      ({ requests, cpuMs: pagesCpuMs } = closed);
      const recorded = (await Array.fromAsync(client.handle(run.runId).events())).length;
      receivedPct = Math.min(receivedPct, (100 * closed.events) / (PAGES * recorded));
    }
    forget();
    const timed = { msPerCall: ms / calls, cpuMsPerCall: (user + system) / 1_000 / calls, serverCpuMsPerCall: serverMs / calls };
    return { ...timed, events: (await weighChain(client.temporal, run.runId, 'callModel')).events };
  };
  try {
    // The first runs load what all need.
    await measured(false);
    await measured(true);
    const [alone, watched]: [Timed[], Timed[]] = [[], []];
    const ratios: number[] = [];
    let [events, eventsWatched] = [0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      const [one, other]: [Timed[], Timed[]] = [[], []];
      for (let pair = 0; pair < PAIRS; pair += 1) {
        // What slows the machine down over time slows down both.
        for (const isWatched of pair % 2 === 0 ? [false, true] : [true, false]) {
          const run = await measured(isWatched);
          (isWatched ? other : one).push(run);
          if (isWatched) eventsWatched = run.events;
          else events = run.events;
        }
      }
      alone.push(medianOf(one));
      watched.push(medianOf(other));
      ratios.push(median(other.map(({ msPerCall }, pair) => msPerCall / (one[pair]?.msPerCall ?? Number.NaN))));
    }
    const [own, other] = [medianOf(alone), medianOf(watched)];
    return {
      pages: PAGES,
      msPerCall: rounded(own.msPerCall, 2),
      msPerCallWatched: rounded(other.msPerCall, 2),
      ratio: rounded(median(ratios), 3),
      cpuMsPerCall: rounded(own.cpuMsPerCall, 2),
      cpuMsPerCallWatched: rounded(other.cpuMsPerCall, 2),
      serverCpuMsPerCall: rounded(own.serverCpuMsPerCall, 2),
      serverCpuMsPerCallWatched: rounded(other.serverCpuMsPerCall, 2),
      pagesCpuMsPerCall: rounded(pagesCpuMs / calls, 2),
      eventsAdded: eventsWatched - events,
      receivedPct: rounded(receivedPct, 1),
      requests,
    };
  } finally {
    await pages.stop();
    await server.close(0);
  }
}

/** The times of a run. */
interface Timed {
  msPerCall: number;
  cpuMsPerCall: number;
  serverCpuMsPerCall: number;
}

function medianOf(all: readonly Timed[]): Timed {
  const middle = (name: keyof Timed): number => median(all.map((one) => one[name]));
  return {
    msPerCall: middle('msPerCall'),
    cpuMsPerCall: middle('cpuMsPerCall'),
    serverCpuMsPerCall: middle('serverCpuMsPerCall'),
  };
}

/** The requests to the process with the pages. */
export type PagesRequest = { type: 'open' } | { type: 'show'; runId: string } | { type: 'close' } | { type: 'stop' };
export type PagesReply =
  | { type: 'ready' }
  | { type: 'opened' }
  | { type: 'shown' }
  /** What the pages have received of the record, asked for and computed since they were opened, once each has seen the end. */
  | { type: 'closed'; events: number; requests: number; cpuMs: number };
