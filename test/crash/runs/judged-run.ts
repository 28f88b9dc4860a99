import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { executionHistory, historyJson } from '../../../src/history/execution-history.ts';
import { RunChain } from '../../../src/client/read/chain.ts';
import { errorMessage } from '../../../src/core/domain/errors/error.ts';
import { secondsSince } from '../../storm/timings.ts';
import { askConstantly } from './ask-constantly.ts';
import type { HistoryCheck } from '../checks/history-check.ts';
import type { Lane } from '../processes/lane.ts';
import type { Outcome } from './outcome.ts';
import { within } from '../processes/persist.ts';
import { type Disturbance, playRun } from './play-run.ts';
import type { RunRecord } from './run-record.ts';

const KEEP_MS = 30_000;

/** A run, and the checks of its record. */
interface JudgedRun {
  /** The name in the report, and in the folder of its histories if it has a problem. */
  name: string;
  folder: string;
  disturbance: Disturbance;
  judge: (record: RunRecord) => string[];
}

/** Does a run and checks its record. If there is a problem, the histories of the run are kept, and the run is ended. */
export async function judgedRun(lane: Lane, { name, folder, disturbance, judge }: JudgedRun): Promise<Outcome> {
  const start = performance.now();
  const runId = `${lane.pass}-${name.replaceAll(/[^\w]+/g, '-')}`;
  const enough = new AbortController();
  const asking = lane.histories && askConstantly(lane.client.temporal, runId, enough.signal);
  const problems = await problemsOf(() => playRun(lane, runId, disturbance), judge);
  enough.abort();
  await asking;
  if (lane.histories !== undefined) problems.push(...(await historyProblems(lane, lane.histories, runId)));
  const outcome = { pass: lane.pass, name, problems, seconds: secondsSince(start) };
  if (problems.length === 0) return outcome;
  const histories = join(folder, runId);
  try {
    await within('Keeping the histories', Date.now() + KEEP_MS, keep(lane, runId, histories));
    return { ...outcome, histories };
  } catch (error) {
    return { ...outcome, problems: [...problems, `its histories could not be kept: ${errorMessage(error)}`] };
  }
}

async function historyProblems({ client }: Lane, histories: HistoryCheck, runId: string): Promise<string[]> {
  return histories.problems(client.temporal, runId).catch((error: unknown) => [`its histories could not be read: ${errorMessage(error)}`]);
}

async function problemsOf(play: () => Promise<RunRecord>, judge: (record: RunRecord) => string[]): Promise<string[]> {
  try {
    return judge(await play());
  } catch (error) {
    return [errorMessage(error)];
  }
}

/** Writes the history of every execution and the effects so far into the folder. */
async function keep({ client: { temporal }, ledger }: Lane, runId: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'effects.json'), JSON.stringify({ effects: ledger.effects(runId), points: ledger.points(runId) }, null, 1));
  const chain = new RunChain(temporal, runId);
  for (const [index, { executionId }] of (await chain.executions()).entries()) {
    const history = await executionHistory(temporal, runId, executionId);
    await writeFile(join(folder, `history-${index + 1}.json`), historyJson(history));
  }
  if (!(await chain.newest()).closed) await temporal.workflow.getHandle(runId).terminate('the crash matrix has seen enough');
}
