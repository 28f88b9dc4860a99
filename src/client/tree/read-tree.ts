import type { Client } from '@temporalio/client';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import { addRunUsage } from '../../core/domain/model/usage.ts';
import { inBatches } from '../../temporal/in-batches.ts';
import type { RunTree } from './run-tree.ts';
import { TreeRun, type TreeRunView } from './tree-run.ts';

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
export function treeOf(runId: string, views: ReadonlyMap<string, TreeRunView>): RunTree {
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
