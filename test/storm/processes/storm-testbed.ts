import { type Check, type Say, unless } from '../../processes/command.ts';
import { Client, Connection } from '@temporalio/client';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleFor, openStage } from '../../processes/stage.ts';
import type { ExecutionHistory } from '../../../src/history/history-events.ts';
import { LonghaulClient } from '../../../src/client/index.ts';
import { CALL_RETRY } from '../../../src/temporal/server-connection.ts';
import { Replayer } from '../../../worker/index.ts';
import { type ReplayedExecution, replayed } from '../replayed.ts';
import { CollectedTraces } from '../../telemetry/collected-traces.ts';
import { AGENT_RUN } from '../../../src/core/protocol.ts';
import { ProgramProcess } from '../../processes/program-process.ts';

/** The outcome of a part of the storm. */
export interface Outcome {
  checks: Check[];
  /** The measurements, for the line of figures. */
  figures: object;
}

/** The settings of a worker's process, passed as the JSON of its first argument. */
export interface WorkerSetting {
  address: string;
  namespace: string;
  taskQueue: string;
  /** The workflows, bundled once for all workers. */
  bundlePath: string;
  /** The file that effects are written to. */
  ledger: string;
  /** The number of cached runs; the default of the SDK if it is left out. */
  cached?: number;
  /** The number of history events after which a run continues as new; the default if it is left out. */
  eventsOfExecution?: number;
  /** True: with the product's timeouts. Otherwise the death of a worker is noticed soon. */
  isPatient?: boolean;
  /** The URL of the collector that traces are reported to. Absent: no traces. */
  collector?: string;
}

/** A worker in a separate process: it can be killed and replaced. */
type StormWorker = ProgramProcess;

const WORKER = fileURLToPath(new URL('worker-process.ts', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('storm-workflows.ts', import.meta.url));

/** The environment of one part of the storm, with a separate task queue. */
export interface StormTestbed {
  taskQueue: string;
  /** The file that effects are written to. */
  ledger: string;
  /** The first worker, which is running. */
  worker: StormWorker;
  /** Starts another worker, which is stopped with the testbed. */
  addWorker(): Promise<StormWorker>;
  /** Replays the executions of a run in order. */
  replay(runId: string, executions: readonly ExecutionHistory[]): Promise<ReplayedExecution[]>;
  /** A client with a separate connection, which is closed with the testbed. */
  connect(): Promise<LonghaulClient>;
  say(line: string): void;
}

/** The options of a testbed. */
interface TestbedOptions {
  name: string;
  /** The number of runs that a worker caches. */
  cached?: number;
  /** The number of history events after which a run continues as new. */
  eventsOfExecution?: number;
  /** True: with the product's timeouts. */
  isPatient?: boolean;
}

/** Runs a part on a testbed, checks its traces if there are some, and cleans up however the part ends. */
export type WithTestbed = (options: TestbedOptions, work: (testbed: StormTestbed) => Promise<Outcome>) => Promise<Outcome>;

/** Options for all parts. */
interface StageOptions {
  say: Say;
  /** If true, workers report traces, which are checked. */
  traces: boolean;
}

/**
 * Starts a fresh dev server, in memory, opens testbeds on it, and ends every process afterwards. A server that TEMPORAL_ADDRESS
 * names is not used, because other runs may use it.
 */
export async function withTestbeds<Result>(
  { say, traces: isTraced }: StageOptions,
  work: (withTestbed: WithTestbed) => Promise<Result>,
): Promise<Result> {
  await using stage = await openStage(say);
  const { address, namespace } = stage;
  const bundlePath = await bundleFor(stage, WORKFLOWS);
  const replayer = new Replayer({ worker: { workflowBundle: { codePath: bundlePath } } });
  stage.defer(() => replayer.close());
  const traces = isTraced ? await CollectedTraces.open() : undefined;
  stage.defer(() => traces?.close());
  return await work(async ({ name, ...options }, runPart) => {
    const ledger = join(dirname(bundlePath), `${name}.jsonl`);
    const workers: StormWorker[] = [];
    const addWorker = async (): Promise<StormWorker> => {
      const worker = new ProgramProcess(WORKER, {
        address,
        namespace,
        taskQueue: name,
        bundlePath,
        ledger,
        ...options,
        ...(traces === undefined ? {} : { collector: traces.url }),
      } satisfies WorkerSetting);
      workers.push(worker);
      await worker.start();
      return worker;
    };
    const clients: LonghaulClient[] = [];
    const connect = async (): Promise<LonghaulClient> => {
      const client = await ownConnection(address, namespace);
      clients.push(client);
      return client;
    };
    try {
      const worker = await addWorker();
      const replay = (runId: string, executions: readonly ExecutionHistory[]): Promise<ReplayedExecution[]> =>
        replayed(replayer, runId, executions, say);
      const outcome = await runPart({
        taskQueue: name,
        ledger,
        worker,
        addWorker,
        replay,
        connect,
        say: (line) => say(`${name}: ${line}`),
      });
      if (traces === undefined) return outcome;
      return { ...outcome, checks: [...outcome.checks, await traceCheck(traces, { client: await connect(), taskQueue: name })] };
    } finally {
      await Promise.all(clients.map((client) => client.close()));
      await Promise.all(workers.map((worker) => worker.stop()));
    }
  });
}

/** Connects like `connect()`, but with a separate connection: by default, channels of one process to one address share a connection. */
async function ownConnection(address: string, namespace: string): Promise<LonghaulClient> {
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 };
  const connection = await Connection.connect({ address, channelArgs, interceptors: CALL_RETRY });
  return new LonghaulClient(new Client({ connection, namespace }));
}

/** Checks the traces of all runs of a part. Runs inside a workflow of the user are left out: nobody repairs them after a kill. */
async function traceCheck(traces: CollectedTraces, { client, taskQueue }: { client: LonghaulClient; taskQueue: string }): Promise<Check> {
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = '${AGENT_RUN}'`;
  const runIds = new Set<string>();
  for await (const { workflowId } of client.temporal.workflow.list({ query })) runIds.add(workflowId);
  const problems = await traces.problems(client, [...runIds], { wasKilled: true });
  const spans = [...runIds].flatMap((runId) => traces.spansOf(runId));
  const hasTokens = spans.some(({ name, values }) => name.startsWith('chat ') && Number(values['gen_ai.usage.input_tokens'] ?? 0) > 0);
  return { name: 'every run is one whole trace', problems: [...problems, ...unless(hasTokens, 'no model call has tokens')] };
}
