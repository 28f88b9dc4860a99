import { randomUUID } from 'node:crypto';
import { connect } from '../../client/connect.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { queryRun } from '../../client/read/query-run.ts';
import type { StartOptions } from '../../client/start/start-run.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import type { Event } from '../../core/domain/record/event.ts';
import { RunResult, type RunResultFields } from '../../core/domain/run/run-result.ts';
import { type DataView, QUERIES } from '../../core/protocol.ts';
import { type DevServer, startDevServer } from '../../dev-server/index.ts';
import { installLog } from '../../../worker/install-log.ts';
import type { DurableTestOptions } from '../durable-test-options.ts';
import { effectsLedger } from '../effects-ledger.ts';
import { assertPlayed } from '../harness/assert-played.ts';
import { ApprovalDriver } from '../harness/approval-driver.ts';
import { Harness } from '../harness/harness.ts';
import { withinTime } from '../harness/within-time.ts';
import { workerParts } from '../harness/worker-parts.ts';
import type { TestedRecord, TestedRun } from '../tested-run.ts';
import { UndecidedRun } from '../undecided-run.ts';
import { durableAccess } from './durable-access.ts';
import { attendRun } from './durable-waiting.ts';
import { CleanUp } from './clean-up.ts';
import { DurableWorkers } from './durable-workers.ts';
import { workerOptions } from './worker-options.ts';

/** Runs an agent on a server, with everything around it that the test says. */
export async function runDurably(agent: AnyAgent, options: DurableTestOptions): Promise<TestedRun<unknown>> {
  // Failing attempts are what many tests are about. A process that has chosen what the SDK says keeps it.
  installLog({}, { level: 'ERROR', format: 'text' });
  const ledger = options.ledger ?? effectsLedger();
  const stage = new Harness(agent, options);
  const parts = workerParts(stage, agent, options, ledger);
  const cleanUp = new CleanUp();
  try {
    const server = await serverFor(options);
    cleanUp.add(() => server.stop());
    const { address, namespace } = server;
    const taskQueue = `test-${randomUUID()}`;
    const client = await connect({ address, namespace, taskQueue });
    cleanUp.add(() => client.close());
    const workers = await DurableWorkers.start(await workerOptions(stage, { address, namespace, taskQueue, parts, options }));
    cleanUp.add(() => workers.stop());
    cleanUp.add(async () => stage.end());
    stage.worker = workers;
    const run = await client.start(agent, startOptions(stage, options));
    cleanUp.add(() => terminate(client, run));
    const result = await withinTime(options.timeout ?? '60s', [attended(stage, client, run, options), workers.failure, stage.failure]);
    const record = await recordOf(stage, client, run);
    assertPlayed(stage, options.model, result);
    const fields: RunResultFields<unknown> = { ...result.toJSON(), steps: [...record.steps] };
    return { ...record, result: new RunResult(fields), ledger };
  } finally {
    await cleanUp.run();
  }
}

function startOptions({ runId }: Harness, options: DurableTestOptions): StartOptions {
  const { input, deps, limits, deadline, settings, tags } = options;
  return {
    input,
    runId,
    ...(deps === undefined ? {} : { deps }),
    ...(limits === undefined ? {} : { limits }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(settings === undefined ? {} : { settings }),
    ...(tags === undefined ? {} : { tags }),
  };
}

/** The result of the run, with people around it until then. */
async function attended(
  stage: Harness,
  client: LonghaulClient,
  run: RunHandle<unknown>,
  { decide }: DurableTestOptions,
): Promise<RunResult<unknown>> {
  const access = durableAccess(run);
  stage.run = access;
  const over = new AbortController();
  const stuck = async (pending: readonly ApprovalView[]): Promise<never> => {
    throw new UndecidedRun(pending, await recordOf(stage, client, run));
  };
  const attending = attendRun(run, new ApprovalDriver(stage, access, decide), { signal: over.signal, stuck });
  attending.catch((error: unknown) => stage.fail(error));
  try {
    return await run.result();
  } finally {
    stage.end();
    over.abort();
    await attending.catch(() => undefined);
  }
}

/** From the run itself, as long as its worker is there. */
async function recordOf({ requests }: Harness, client: LonghaulClient, run: RunHandle<unknown>): Promise<TestedRecord> {
  const events: Event[] = [];
  for await (const event of run.events()) events.push(event);
  const data = await queryRun<DataView>(client.temporal, run.runId, QUERIES.data);
  if (data === undefined) throw new Error(`No worker answered for run "${run.runId}"`);
  return { events, steps: await run.steps(), ...data, requests };
}

/** A run that has ended is beyond that. */
async function terminate(client: LonghaulClient, { runId }: RunHandle<unknown>): Promise<void> {
  await client.temporal.workflow
    .getHandle(runId)
    .terminate('the test has ended')
    .catch(() => undefined);
}

/** The server that the test names, else the one of the environment, else one of its own. */
async function serverFor({ address, namespace }: DurableTestOptions): Promise<Pick<DevServer, 'address' | 'namespace' | 'stop'>> {
  if (address !== undefined) return { address, namespace: namespace ?? 'default', stop: async () => undefined };
  const server = await startDevServer();
  return namespace === undefined ? server : { ...server, namespace };
}
