import { deepestFirst } from './runs-below.ts';
import type { Forgotten } from './forget-options.ts';

/** The requests to the server and the stores by which a user is forgotten. */
export interface ForgetPorts {
  /** Lists the runs of the user of which the server has anything. A run that has just begun may be missing. */
  runs(): Promise<readonly string[]>;
  /** Resolves when none of these runs goes on. */
  end(runIds: readonly string[]): Promise<void>;
  /** Removes all entries of the user. Returns their number. */
  forgetMemory(): Promise<number>;
  /** Removes the spilled results and the archive of a run. */
  removeContent(runId: string): Promise<void>;
  /** Has the server remove the executions of a run. Returns the ids of those that it was not asked to remove before. */
  removeExecutions(runId: string): Promise<readonly string[]>;
  /** Waits for the server, which removes in the background and lists with a delay. */
  pause(): Promise<void>;
}

/** The number of empty lists, one after another, after which nothing is left. */
const EMPTY_LISTS = 2;

/**
 * Removes everything of a user. Ends its runs; then removes entries of memory, content in stores, and at last the executions. So the
 * list of the server says what is left to do, and a call after a crash at any point goes on from there. What was written before the
 * server had removed a run, by a call that outlived it, is removed by a later round.
 */
export async function forgetUser(ports: ForgetPorts): Promise<Omit<Forgotten, 'without'>> {
  const runs = new Set<string>();
  const executions = new Set<string>();
  let memoryEntries = 0;
  for (let empty = 0; ; await ports.pause()) {
    const found = (await ports.runs()).toSorted(deepestFirst);
    empty = found.length === 0 ? empty + 1 : 0;
    if (empty === EMPTY_LISTS) break;
    if (found.length === 0) continue;
    await ports.end(found);
    // A run may have started others before it ended: they end before anything is removed.
    if ((await ports.runs()).some((runId) => !found.includes(runId))) continue;
    memoryEntries += await ports.forgetMemory();
    for (const runId of found) {
      await ports.removeContent(runId);
      for (const executionId of await ports.removeExecutions(runId)) executions.add(`${runId}@${executionId}`);
      runs.add(runId);
    }
  }
  memoryEntries += await ports.forgetMemory();
  return { runs: [...runs].toSorted(), executions: executions.size, memoryEntries };
}
