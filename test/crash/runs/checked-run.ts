import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { executionHistory, historyJson } from '../../../src/history/history-events.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { secondsSince } from '../../processes/timings.ts';
import { queryConstantly } from './query-constantly.ts';
import type { HistoryCheck } from '../checks/history-check.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import type { Outcome } from './outcome.ts';
import { within } from '../processes/retry-while-down.ts';
import type { Disturbance } from './disturbance.ts';
import type { RecordOfRun, Subject } from '../subject.ts';

const KEEP_MS = 30_000;

/** A run, and the checks of its record. */
interface CheckedRun<Recorded> {
  /** The name in the report, and in the folder of its histories if it has a problem. */
  name: string;
  folder: string;
  disturbance: Disturbance;
  check: (record: Recorded) => string[];
}

/** Does a run and checks its record. If there is a problem, the histories of the run are kept, and the run is ended. */
export async function checkedRun<Recorded extends RecordOfRun>(
  testbed: CrashTestbed,
  subject: Pick<Subject<Recorded, never>, 'name' | 'run'>,
  { name, folder, disturbance, check }: CheckedRun<Recorded>,
): Promise<Outcome> {
  const start = performance.now();
  const runId = `${subject.name}-${testbed.pass}-${name.replaceAll(/[^\w]+/g, '-')}`;
  const enough = new AbortController();
  const querying = testbed.histories && queryConstantly(testbed.client.temporal, runId, enough.signal);
  const problems = await problemsOf(() => subject.run(testbed, runId, disturbance), check);
  enough.abort();
  await querying;
  if (testbed.histories !== undefined) problems.push(...(await historyProblems(testbed, testbed.histories, runId)));
  if (testbed.traces !== undefined && problems.length === 0) {
    const wasKilled = disturbance.type !== 'none';
    problems.push(...(await testbed.traces.problems(testbed.client, [runId], { wasKilled })));
  }
  const outcome = { subject: subject.name, pass: testbed.pass, name, problems, seconds: secondsSince(start) };
  if (problems.length === 0) return outcome;
  const histories = join(folder, runId);
  try {
    await within('Keeping the histories', Date.now() + KEEP_MS, keep(testbed, runId, histories));
    return { ...outcome, histories };
  } catch (error) {
    return { ...outcome, problems: [...problems, `its histories could not be kept: ${errorMessage(error)}`] };
  }
}

async function historyProblems({ client }: CrashTestbed, histories: HistoryCheck, runId: string): Promise<string[]> {
  return histories.problems(client.temporal, runId).catch((error: unknown) => [`its histories could not be read: ${errorMessage(error)}`]);
}

async function problemsOf<Recorded>(run: () => Promise<Recorded>, check: (record: Recorded) => string[]): Promise<string[]> {
  try {
    return check(await run());
  } catch (error) {
    return [errorMessage(error)];
  }
}

/** Writes the history of every execution and the effects so far into the folder. */
async function keep({ client: { temporal }, ledger }: CrashTestbed, runId: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'effects.json'), JSON.stringify({ effects: ledger.effects(runId), points: ledger.points(runId) }, null, 1));
  const chain = new RunChain(temporal, runId);
  for (const [index, { executionId }] of (await chain.executions()).entries()) {
    const history = await executionHistory(temporal, runId, executionId);
    await writeFile(join(folder, `history-${index + 1}.json`), historyJson(history));
  }
  if (!(await chain.newest()).closed) await temporal.workflow.getHandle(runId).terminate('the crash matrix has seen enough');
}
