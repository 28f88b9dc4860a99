import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CrashServer, findCli } from '../../processes/crash-server.ts';
import { defined } from '../../../src/core/domain/json.ts';
import { HistoryCheck, type CrashTestbed, openTestbed, type RunTiming, type SharedResources, type Pass } from './crash-testbed.ts';
import { CollectedTraces } from '../../telemetry/collected-traces.ts';
import { Ledger } from './ledger.ts';
import type { Outcome } from '../subject.ts';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
import { RUNS_MODULE } from '../../../worker/bundle-workflows.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { withoutSources } from '../../../worker/write-packaged-bundle.ts';

/** Opens one testbed after the other for a pass. */
export type OpenTestbed = () => Promise<CrashTestbed>;

/** Options for all runs. */
interface ResourceOptions {
  say: (line: string) => void;
  /** If true, runs are queried all the time, and their histories are checked. */
  queries: boolean;
  /** If true, workers report traces, which are checked. */
  traces: boolean;
}

/** Prepares the resources that all testbeds share, and removes them afterwards, unless a run has a problem. */
export async function withResources(
  { say, queries, traces: isTraced }: ResourceOptions,
  work: (resources: SharedResources) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const cliPath = await findCli(say);
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-crash-'));
  // Every worker compiles the same files.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
  const ledger = new Ledger(join(folder, 'ledger.db'));
  const bundlePath = await bundleInto(folder);
  const histories = queries ? new HistoryCheck(bundlePath) : undefined;
  const traces = isTraced ? await CollectedTraces.open() : undefined;
  let isClean = false;
  try {
    const outcomes = await work({ folder, cliPath, bundlePath, ledger, ...defined({ histories, traces }) });
    isClean = outcomes.every(({ problems }) => problems.length === 0);
    return outcomes;
  } finally {
    await histories?.close();
    await traces?.close();
    ledger.close();
    if (isClean) await rm(folder, { recursive: true, maxRetries: 5 });
    else say(`everything is kept in ${folder}`);
  }
}

/** Runs a pass: if workers die, all testbeds share a server; if servers die, each testbed has its own. */
export async function withTestbeds<Result>(
  resources: SharedResources,
  { pass, subject }: { pass: Pass; subject: RunTiming },
  work: (open: OpenTestbed) => Promise<Result>,
): Promise<Result> {
  const { eventsOfExecution, heartbeatMs } = subject;
  const timing = { pass, eventsOfExecution, heartbeatMs };
  if (pass === 'server') return work(() => openTestbed(resources, timing));
  const sharedServer = await CrashServer.start(resources.cliPath);
  try {
    return await work(() => openTestbed(resources, { ...timing, sharedServer }));
  } finally {
    await sharedServer.stop();
  }
}

/** Bundles Longhaul's workflows, which report their points, into a file of the folder. */
async function bundleInto(folder: string): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: RUNS_MODULE,
    workflowInterceptorModules: [fileURLToPath(new URL('../points/workflow-points.ts', import.meta.url))],
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    logger: new DefaultLogger('ERROR'),
  });
  const path = join(folder, 'workflows.js');
  await writeFile(path, withoutSources(code));
  return path;
}
