import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { executionHistory, historyJson } from '../../../src/history/history-events.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { secondsSince } from '../../processes/timings.ts';
import type { HistoryCheck, CrashTestbed, SharedResources } from '../processes/crash-testbed.ts';
import type { Outcome, Disturbance, RecordOfRun, Subject } from '../subject.ts';
import { within } from './run-on-server.ts';
import type { Client } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import { QUERIES } from '../../../src/core/protocol.ts';
import type { OpenTestbed } from '../processes/shared-resources.ts';
import { END, IDLE, queryPoint } from '../points/points.ts';

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

/** The queries of Longhaul's client, and of the Temporal UI for the page of a run. */
const ASKED = [QUERIES.status, '__temporal_workflow_metadata', QUERIES.approvals, '__stack_trace'];
const EVERY_MS = 30;
const DEADLINE_MS = 3_000;

/** Queries a run, even if it does not answer, until it is aborted. */
async function queryConstantly(client: Client, runId: string, enough: AbortSignal): Promise<void> {
  const handle = client.workflow.getHandle(runId);
  for (let asked = 0; !enough.aborted; asked += 1) {
    const name = ASKED[asked % ASKED.length] ?? '';
    await client.withDeadline(Date.now() + DEADLINE_MS, () => handle.query(name)).catch(() => undefined);
    await pause(EVERY_MS, undefined, { signal: enough }).catch(() => undefined);
  }
}

/** The undisturbed run, the reference for all other runs. */
interface Undisturbed<Plain> {
  record: Plain;
  /** The points that it reached, in order. */
  points: string[];
}

/** Does a run without a disturbance. Its outcome counts like any other; `undisturbed` is undefined if it had a problem. */
export async function runUndisturbed<Recorded extends RecordOfRun, Plain>(
  open: OpenTestbed,
  resources: SharedResources,
  subject: Subject<Recorded, Plain>,
): Promise<{ outcome: Outcome; undisturbed: Undisturbed<Plain> | undefined }> {
  let undisturbed: Undisturbed<Plain> | undefined;
  const testbed = await open();
  try {
    const outcome = await checkedRun(testbed, subject, {
      name: 'undisturbed',
      folder: resources.folder,
      disturbance: { type: 'none' },
      check: (record) => {
        const points = pointsOf(resources.ledger.points(record.runId));
        undisturbed = { record: subject.plain(record), points };
        return subject.undisturbedProblems(record, points);
      },
    });
    return { outcome, undisturbed: outcome.problems.length === 0 ? undisturbed : undefined };
  } finally {
    await testbed.close();
  }
}

/** Points after the end do not count; and the run is idle when its status is queried. */
function pointsOf(reached: readonly string[]): string[] {
  const untilEnd = reached.slice(0, reached.indexOf(END) + 1);
  return untilEnd.toSpliced(untilEnd.indexOf(queryPoint('status')), 0, IDLE);
}
