import { deepestFirst } from './runs-below.ts';
import type { Forgotten } from './forget-options.ts';

/** The requests to the server and the stores by which a user is forgotten. */
export interface ForgetPorts {
  /** Lists the runs of the user of which the server has anything. A run that has just begun may be missing. */
  runs(): Promise<readonly string[]>;
  /** Lists the runs of the user that the archive has, of which the server may have nothing any more. */
  archivedRuns(): Promise<readonly string[]>;
  /** Resolves when none of these runs goes on. */
  end(runIds: readonly string[]): Promise<void>;
  /** Removes all entries of the user. Returns their number. */
  forgetMemory(): Promise<number>;
  /** Removes the spilled results and the archive of a run. Returns false if they stay, because they are also of another principal. */
  removeContent(runId: string): Promise<boolean>;
  /** Has the server remove the executions of a run that are the user's. Returns the ids of those that it was not asked to remove before. */
  removeExecutions(runId: string): Promise<readonly string[]>;
  /** Waits for the server, which removes in the background and lists with a delay. */
  pause(): Promise<void>;
}

/** The number of empty lists, one after another, after which nothing is left. */
const EMPTY_LISTS = 2;

/**
 * Removes everything of a user. Ends its runs; then removes entries of memory, content in stores, and at last the executions. So the
 * list of the server says what is left to do, and a call after a crash at any point goes on from there. Runs that the server has removed
 * before are found in the archive, which then goes last. What was written before the server had removed a run, by a call that outlived it,
 * is removed by a later round.
 */
export async function forgetUser(ports: ForgetPorts): Promise<Omit<Forgotten, 'without'>> {
  const [runs, kept, executions] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let memoryEntries = 0;
  const removeContent = async (runId: string): Promise<void> => {
    const isRemoved = await ports.removeContent(runId);
    (isRemoved ? runs : kept).add(runId);
    if (isRemoved) kept.delete(runId);
  };
  const removeExecutions = async (runId: string): Promise<void> => {
    for (const executionId of await ports.removeExecutions(runId)) {
      executions.add(`${runId}@${executionId}`);
      runs.add(runId);
    }
  };
  for (let empty = 0; ; await ports.pause()) {
    const listed = await ports.runs();
    const archived = listed.length > 0 ? [] : (await ports.archivedRuns()).filter((runId) => !kept.has(runId));
    const found = [...listed, ...archived].toSorted(deepestFirst);
    empty = found.length === 0 ? empty + 1 : 0;
    if (empty === EMPTY_LISTS) break;
    if (found.length === 0) continue;
    await ports.end(found);
    // A run may have started others before it ended: they end before anything is removed.
    if ((await ports.runs()).some((runId) => !found.includes(runId))) continue;
    memoryEntries += await ports.forgetMemory();
    // In each case, what leads to the rest goes last.
    const work = archived.length === 0 ? [removeContent, removeExecutions] : [removeExecutions, removeContent];
    for (const runId of found) for (const remove of work) await remove(runId);
  }
  memoryEntries += await ports.forgetMemory();
  return { runs: [...runs].toSorted(), executions: executions.size, memoryEntries, kept: [...kept].toSorted() };
}
