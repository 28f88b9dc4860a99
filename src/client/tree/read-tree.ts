import type { Client } from '@temporalio/client';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { addRunUsage, type AggregatedUsage, noUsage } from '../../core/domain/usage.ts';
import { addUsageOfEvent, type Event } from '../../core/domain/record.ts';
import type { StatusView } from '../../core/protocol.ts';
import { inBatches } from '../../temporal/in-batches.ts';
import { RunReader } from '../read/reader.ts';
import type { RunTree } from './run-tree.ts';

/** Runs that are read at once. */
const READ_AT_ONCE = 10;

/** The runs of a tree that were read before, by their ids. */
export type KnownRuns = Map<string, TreeRun>;

/** A run that was read, with its view. */
export interface ReadTreeRun {
  run: TreeRun;
  view: TreeRunView;
}

/**
 * Reads a run and all runs below it, level by level, the run itself first. Runs that the server does not have are left out. Throws
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

/** Returns a run with the runs below it. */
export async function readTree(client: Client, runId: string): Promise<RunTree> {
  const runs = await readTreeRuns(client, runId);
  return treeOf(runId, new Map(runs.map(({ run, view }) => [run.runId, view])));
}

/** Assembles a tree from the views of its runs, and adds up what they have used. */
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
    ...(status.limits === undefined ? {} : { limits: status.limits }),
    ...(status.session === undefined ? {} : { turns: status.session.turns }),
    usage,
    treeUsage: children.reduce((sum, child) => addRunUsage(sum, child.treeUsage), usage),
    waitingFor: status.waitingFor,
    children,
  };
}

/** The view of one run of a tree. */
interface TreeRunView {
  kind: 'agent' | 'program';
  status: StatusView;
  /** The usage of the run without that of its children. */
  usage: AggregatedUsage;
  /** The ids of all children that it has started so far. */
  children: readonly string[];
}

/** A run of a tree, which can be read again as it goes on. Records that were read are not read again. */
class TreeRun {
  readonly runId: string;
  readonly reader: RunReader;
  readonly #children = new Set<string>();
  /** The number of events that were read, for a program. */
  #events = 0;
  #usage = noUsage();
  /** The step of the last reading, for an agent. */
  #step = -1;

  constructor(client: Client, runId: string) {
    this.runId = runId;
    this.reader = new RunReader(client, runId);
  }

  /** Reads the run; undefined if the server does not have it: it was deleted, or could not start. */
  async view(): Promise<TreeRunView | undefined> {
    try {
      const { kind } = await this.reader.chain.newest();
      // Together: each waits for seconds if no worker answers.
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

  /** The events of a program name its children, and say what it has used itself. */
  async #readEvents(): Promise<void> {
    try {
      if (this.#events === 0) this.#usage = noUsage();
      for await (const event of this.reader.events({ from: this.#events })) this.#read(event);
    } catch (error) {
      if (errorCode(error) !== 'history_removed') throw error;
      // The server has removed the beginning: nothing of the rest was read before.
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
    const hasNone = treeUsage === undefined && session?.spent.below === undefined;
    if (hasNone || currentStep === this.#step) return;
    for (const { toolCalls } of await this.reader.steps()) {
      for (const { childRunId } of toolCalls) if (childRunId !== undefined) this.#note(childRunId);
    }
    this.#step = currentStep;
  }

  /** The id of a child begins with that of its parent. */
  #note(runId: string): void {
    if (runId.startsWith(`${this.runId}/`)) this.#children.add(runId);
  }
}
