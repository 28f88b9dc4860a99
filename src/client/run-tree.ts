import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError, UsageError } from '../core/domain/errors.ts';
import { branchesId } from '../core/domain/handoffs.ts';
import { defined } from '../core/domain/json.ts';
import type { RunLimits } from '../core/domain/limits.ts';
import { addUsageOfEvent, type Event } from '../core/domain/record.ts';
import { isTerminal, type RunStatus } from '../core/domain/run.ts';
import { addRunUsage, type AggregatedUsage, noUsage } from '../core/domain/usage.ts';
import type { StatusView } from '../core/protocol.ts';
import { requireKnown } from '../define/option-checks.ts';
import { inBatches, sleep } from '../temporal/waiting.ts';
import { type FollowOptions, RunReader } from './reader.ts';

const READ_AT_ONCE = 10;

/** The runs of a tree that were already read, by id. */
type KnownRuns = Map<string, TreeRun>;

/** A run that was read, with its view. */
interface ReadTreeRun {
  run: TreeRun;
  view: TreeRunView;
}

/**
 * Reads a run and all its descendants, level by level, the run itself first. Runs that the server does not have are left out. Throws
 * `run_not_found` if it does not have the run itself.
 */
export async function readTreeRuns(client: Client, runId: string, known: KnownRuns = new Map()): Promise<ReadTreeRun[]> {
  const found: ReadTreeRun[] = [];
  let level = [runId];
  while (level.length > 0) {
    const answers = await Array.fromAsync(inBatches(level, READ_AT_ONCE, (id) => readOne(client, id, known)));
    const read = answers.flatMap((one) => one ?? []);
    if (found.length === 0 && read.length === 0)
      throw new LonghaulError('run_not_found', `Run "${runId}" was deleted while its tree was read`);
    found.push(...read);
    level = read.flatMap(({ view }) => view.children);
  }
  return found;
}

async function readOne(client: Client, runId: string, known: KnownRuns): Promise<ReadTreeRun | undefined> {
  const run = known.get(runId) ?? new TreeRun(client, runId);
  known.set(runId, run);
  const view = await run.view();
  return view === undefined ? undefined : { run, view };
}

/** Returns a run with its descendants. */
export async function readTree(client: Client, runId: string): Promise<RunTree> {
  const runs = await readTreeRuns(client, runId);
  return treeOf(runId, new Map(runs.map(({ run, view }) => [run.runId, view])));
}

/** Assembles a tree from the views of its runs, and sums their usage. */
function treeOf(runId: string, views: ReadonlyMap<string, TreeRunView>): RunTree {
  const view = views.get(runId);
  if (view === undefined) throw new TypeError(`Run "${runId}" was not read`);
  const { kind, status, usage } = view;
  const children = view.children.filter((id) => views.has(id)).map((id) => treeOf(id, views));
  return {
    runId,
    kind,
    agentName: status.agentName,
    status: status.status,
    steps: kind === 'program' ? usage.llmCalls : status.currentStep,
    ...defined({ limits: status.limits, turns: status.session?.turns }),
    usage,
    treeUsage: children.reduce((sum, child) => addRunUsage(sum, child.treeUsage), usage),
    waitingFor: status.waitingFor,
    children,
  };
}

interface TreeRunView {
  kind: 'agent' | 'program';
  status: StatusView;
  /** The usage of the run without its children. */
  usage: AggregatedUsage;
  /** The ids of all children started so far. */
  children: readonly string[];
}

/** A run of a tree, which can be read repeatedly. Each record is read once. */
class TreeRun {
  readonly runId: string;
  readonly reader: RunReader;
  readonly #children = new Set<string>();
  /** For a program: the number of events read so far. */
  #events = 0;
  #usage = noUsage();
  /** For an agent: the step at the last reading. */
  #step = -1;

  constructor(client: Client, runId: string) {
    this.runId = runId;
    this.reader = new RunReader(client, runId);
  }

  /** Reads the run; undefined if the server does not have it: it was deleted, or could not start. */
  async view(): Promise<TreeRunView | undefined> {
    try {
      const { kind } = await this.reader.chain.newest();
      // In parallel: each takes seconds if no worker answers.
      const [status] = await Promise.all([this.reader.status(), kind === 'program' ? this.#readEvents() : undefined]);
      for (const runId of [...(status.endedChildren ?? []), ...(status.children ?? [])]) this.#note(runId);
      if (kind === 'agent') await this.#readSteps(status);
      const own = status.session?.spent.usage ?? status.usage;
      return { kind, status, usage: kind === 'program' ? this.#usage : own, children: [...this.#children] };
    } catch (error) {
      if (errorCode(error) === 'run_not_found') return undefined;
      throw error;
    }
  }

  /** Reads the events of a program, which name its children and its usage. */
  async #readEvents(): Promise<void> {
    try {
      if (this.#events === 0) this.#usage = noUsage();
      for await (const event of this.reader.events({ from: this.#events })) this.#read(event);
    } catch (error) {
      if (errorCode(error) !== 'history_removed') throw error;
      // The server has removed the beginning. Nothing of the rest was read yet.
      for await (const event of this.reader.eventsLeft()) this.#read(event);
      this.#events = 0;
    }
  }

  #read(event: Event): void {
    this.#events += 1;
    this.#usage = addUsageOfEvent(this.#usage, event);
    if (event.step?.child !== undefined) this.#note(event.step.child);
  }

  async #readSteps({ currentStep, treeUsage, session }: StatusView): Promise<void> {
    // No child of such a run has ended, and of a session in no turn.
    const hasNone = treeUsage === undefined && session?.spent.descendants === undefined;
    if (hasNone || currentStep === this.#step) return;
    for (const { toolCalls } of await this.reader.steps()) {
      for (const { childRunId } of toolCalls) if (childRunId !== undefined) this.#note(childRunId);
    }
    this.#step = currentStep;
  }

  /** The id of a child begins with the id of its parent. */
  #note(runId: string): void {
    if (runId.startsWith(`${this.runId}/`)) this.#children.add(runId);
  }
}

/** A run and its descendants. */
export interface RunTree {
  /** The id of the run or session. */
  runId: string;
  /** The kind of run: of an agent, which may be a session, or of a program. */
  kind: 'agent' | 'program';
  /** The name of the agent or the program. */
  agentName: string;
  /** Its status when the tree was read. */
  status: RunStatus;
  /** The steps of the run itself; for a program, its model calls. */
  steps: number;
  /** The number of turns that have begun, if the run is a session. The step limit then applies to each turn. */
  turns?: number;
  /** The limits of the run. Absent until its agent is resolved. A program's limits include what its children use. */
  limits?: RunLimits;
  /** The usage of the run itself. */
  usage: AggregatedUsage;
  /** The usage of the run and all its descendants, including running ones. */
  treeUsage: AggregatedUsage;
  /** The tools, or the steps of a program, whose calls wait for a decision in the run itself. */
  waitingFor: string[];
  /** The runs that it has started, in the order in which they were found. */
  children: RunTree[];
}

/** The options of reading the events of a tree. */
export interface TreeEventOptions extends Omit<FollowOptions, 'from'> {
  /** Includes the events of all descendants, each with the id of its run. */
  tree: true;
}

/** An event of a run of a tree. */
export interface TreeEvent extends Event {
  /** The run that recorded the event. */
  runId: string;
  /** The number of the event in that run, from 0. */
  offset: number;
}

/** The pauses between two rounds: short while events arrive, longer otherwise. */
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Yields the events of a run and all its descendants by time, and the events of one run in the order of their
 * offsets. The input of a parallel flow is yielded once, and not again for each of its agents. With `follow`, works in rounds until the
 * run has ended, each of which yields the new events by time.
 */
export async function* treeEvents(client: Client, runId: string, options: TreeEventOptions): AsyncGenerator<TreeEvent> {
  requireKnown('"events"', options, { tree: true, follow: true, signal: true });
  if (Object.hasOwn(options, 'from')) throw new UsageError('"events": "from" is an offset of one run: leave it out to read a tree');
  const { follow = false, signal } = options;
  const known: KnownRuns = new Map();
  const offsets = new Map<string, number>();
  const parallel = new Set<string>();
  let wait = SHORTEST_PAUSE_MS;
  for (;;) {
    signal?.throwIfAborted();
    const runs = await readTreeRuns(client, runId, known);
    // Read before the events, so that this round has all events up to the end.
    const isOver = runs.some(({ run, view }) => run.runId === runId && isTerminal(view.status.status));
    let isNew = false;
    for await (const event of mergeByTime(runs.map((read) => eventsOf(read, offsets.get(read.run.runId) ?? 0)))) {
      signal?.throwIfAborted();
      offsets.set(event.runId, event.offset + 1);
      isNew = true;
      if (event.id === branchesId(event.runId)) parallel.add(event.runId);
      // The id of a child begins with the id of its parent.
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

/** Merges sequences by time (ISO 8601, equal digits). Each sequence keeps its order; at equal times, the earlier sequence comes first. */
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
