import type { Client } from '@temporalio/client';
import { UsageError } from '../../core/domain/errors.ts';
import { branchesId } from '../../core/domain/handoffs.ts';
import type { Event } from '../../core/domain/record.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { requireKnown } from '../../define/option-checks.ts';
import { sleep } from '../../temporal/waiting.ts';
import type { FollowOptions } from '../read/follow-events.ts';
import { type KnownRuns, type ReadTreeRun, readTreeRuns } from './read-tree.ts';

/** The options of reading the events of a tree. */
export interface TreeEventOptions extends Omit<FollowOptions, 'from'> {
  tree: true;
}

/** An event of a run of a tree. */
export interface TreeEvent extends Event {
  /** The run that has recorded the event. */
  runId: string;
  /** The number of the event in that run, from 0. */
  offset: number;
}

/** The pauses between two rounds: short while events come, long while none do. */
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Yields the events of a run and of all runs below it, in the order of their times; those of one run in the order of their
 * offsets. The input of a parallel flow is yielded once, and not again for each of its agents. With `follow`, in rounds: those that are new are yielded in the order of their times, until the run has ended.
 */
export async function* treeEvents(client: Client, runId: string, options: TreeEventOptions): AsyncGenerator<TreeEvent> {
  requireKnown('"events"', options, ['tree', 'follow', 'signal']);
  if (Object.hasOwn(options, 'from')) throw new UsageError('"events": "from" is an offset of one run: leave it out to read a tree');
  const { follow = false, signal } = options;
  const known: KnownRuns = new Map();
  const offsets = new Map<string, number>();
  const parallel = new Set<string>();
  let wait = SHORTEST_PAUSE_MS;
  for (;;) {
    signal?.throwIfAborted();
    const runs = await readTreeRuns(client, runId, known);
    // Read before the events: those up to the end are then in this round.
    const isOver = runs.some(({ run, view }) => run.runId === runId && isTerminal(view.status.status));
    let isNew = false;
    for await (const event of mergeByTime(runs.map((read) => eventsOf(read, offsets.get(read.run.runId) ?? 0)))) {
      signal?.throwIfAborted();
      offsets.set(event.runId, event.offset + 1);
      isNew = true;
      if (event.id === branchesId(event.runId)) parallel.add(event.runId);
      // The id of a child begins with that of its parent.
      if (event.offset === 0 && parallel.has(event.runId.slice(0, event.runId.lastIndexOf('/')))) continue;
      yield event;
    }
    if (!follow || isOver) return;
    wait = isNew ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
    await sleep(wait, signal);
  }
}

async function* eventsOf({ run }: ReadTreeRun, from: number): AsyncGenerator<TreeEvent> {
  let offset = from;
  for await (const event of run.reader.events({ from })) {
    yield { runId: run.runId, offset, ...event };
    offset += 1;
  }
}

/** Merges sequences by time, in ISO 8601 with the same number of digits. The items of one sequence keep their order; at equal times, those of the earlier sequence come first. */
export async function* mergeByTime<Item extends { timestamp: string }>(sequences: readonly AsyncGenerator<Item>[]): AsyncGenerator<Item> {
  try {
    const heads: (Item | undefined)[] = [];
    for (const sequence of sequences) heads.push(await next(sequence));
    for (;;) {
      let first: number | undefined;
      for (const [index, head] of heads.entries()) {
        if (head === undefined) continue;
        const before = first === undefined ? undefined : heads[first];
        if (before === undefined || head.timestamp < before.timestamp) first = index;
      }
      const item = first === undefined ? undefined : heads[first];
      const sequence = first === undefined ? undefined : sequences[first];
      if (first === undefined || item === undefined || sequence === undefined) return;
      yield item;
      heads[first] = await next(sequence);
    }
  } finally {
    await Promise.all(sequences.map((sequence) => sequence.return(undefined)));
  }
}

async function next<Item>(sequence: AsyncGenerator<Item>): Promise<Item | undefined> {
  const { done, value } = await sequence.next();
  return done ? undefined : value;
}
