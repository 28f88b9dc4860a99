// npm run demo [-- --exit]: provides a Temporal server, runs a worker, starts a run, and prints its events as they happen.
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { connect, LonghaulClient, type RunHandle, type RunResult } from 'longhaul/client';
import { createWorker, type CreateWorkerOptions } from 'longhaul/worker';
import { EXIT_CODES } from '../../src/cli/exit-codes.ts';
import { Interruption, untilInterrupted } from '../../src/cli/interruption.ts';
import { Output } from '../../src/cli/output.ts';
import { eventLines } from '../../src/cli/render/print-event.ts';
import { processTerminal } from '../../src/cli/process-terminal.ts';
import { installQuietRuntime } from '../../src/cli/serve/quiet-runtime.ts';
import { reportError } from '../../src/cli/report-error.ts';
import { findUi, runLink } from '../../src/cli/render/ui-link.ts';
import { type DevServer, startDevServer } from '../../src/dev-server/index.ts';
import { type DemoModel, demoModel } from './demo-model.ts';
import { QUESTION } from './scripted-model.ts';

const TASK_QUEUE = 'kipchoge-demo';
const SEARCH_ATTRIBUTES = {
  LonghaulAgent: 'Keyword',
  LonghaulStatus: 'Keyword',
  LonghaulWaitingFor: 'KeywordList',
  LonghaulTag: 'KeywordList',
} as const;
/** The time limits at the end of the demo: for the run to close as cancelled, and then for calls in flight to finish. */
const GRACE_MS = 2_000;
/** The time for which the worker is waited for if its server is gone. */
const DRAIN_MS = 5_000;

const terminal = processTerminal();
const { signal, env, stdout } = terminal;
const output = new Output(terminal, false);

/** The resources that the demo has started so far. */
interface Started {
  model?: DemoModel;
  server?: DevServer;
  worker?: { failed: Promise<never>; drain: () => Promise<void> };
  client?: LonghaulClient;
  run?: RunHandle;
  result?: RunResult;
}

async function demo({ exit }: { exit: boolean }): Promise<number> {
  const started: Started = {};
  try {
    const result = await runAgent(started);
    await printResult(result, started);
    if (!exit) await stayUp(started);
    return result.success ? 0 : 1;
  } catch (error) {
    return error instanceof Interruption && started.result?.success ? 0 : reportError(error, terminal);
  } finally {
    await endAll(started);
  }
}

async function runAgent(started: Started): Promise<RunResult> {
  const model = (started.model = await demoModel(env));
  for (const line of model.lines) output.print(line);
  const say = (line: string): void => output.print(output.look('dim', line));
  const server = (started.server = await startDevServer({ say, env, signal, ui: true, searchAttributes: SEARCH_ATTRIBUTES }));
  output.print(`The Temporal server is at ${server.address}; starting a worker`);

  const { failed } = (started.worker = await untilInterrupted(signal, startWorker(model, server)));
  const client = (started.client = await untilInterrupted(signal, connectClient(server)));
  signal.throwIfAborted();
  const run = (started.run = await client.start(model.agent, { input: QUESTION }));
  output.print(`Run "${run.runId}" has begun\n`);
  await untilInterrupted(signal, Promise.race([failed, printEvents(run)]));
  return (started.result = await run.result({ signal }));
}

/** Polls until `drain` is called. `failed` never resolves; it rejects if the worker ends by itself. */
async function startWorker({ agent, client }: DemoModel, server: DevServer): Promise<NonNullable<Started['worker']>> {
  await installQuietRuntime(output);
  const place: Pick<CreateWorkerOptions, 'connection' | 'namespace'> = startedHere(server)
    ? { connection: await NativeConnection.connect({ address: server.address }), namespace: server.namespace }
    : {};
  const worker = await createWorker({
    ...place,
    taskQueue: TASK_QUEUE,
    agents: [agent],
    providers: { openai: client },
    shutdownGrace: GRACE_MS,
  });
  const running = worker.run();
  const failed = new Promise<never>((_, reject) => void running.catch(reject));
  failed.catch(() => undefined);
  const drain = async (): Promise<void> => {
    worker.shutdown();
    await running.catch(() => undefined);
    await place.connection?.close();
  };
  return { failed, drain };
}

async function connectClient(server: DevServer): Promise<LonghaulClient> {
  if (!startedHere(server)) return connect({ taskQueue: TASK_QUEUE });
  const connection = await Connection.connect({ address: server.address });
  return new LonghaulClient(new Client({ connection, namespace: server.namespace }), { taskQueue: TASK_QUEUE });
}

/** Returns true if the demo started the server: TLS and keys of the environment and of the Temporal CLI's profile are then ignored. */
function startedHere(server: DevServer): boolean {
  return server.cliPath !== undefined;
}

async function printEvents(run: RunHandle): Promise<void> {
  let startedAt: number | undefined;
  for await (const event of run.events({ follow: true, signal })) {
    startedAt ??= event.timestamp;
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const options = { startedAt, look: output.look.bind(output), ...(width === undefined ? {} : { width }) };
    for (const line of eventLines(event, options)) output.print(line);
  }
}

async function printResult(result: RunResult, { server, run }: Started): Promise<void> {
  const answer =
    result.error === null ? output.look('bold', result.outputText) : output.look('red', `The run ended with an error: ${result.error}`);
  output.print(`\n${answer}\n\n${result.summary()}`);
  const ui = server && (server.uiUrl ?? (await findUi(server, env)));
  if (ui !== undefined && run !== undefined)
    output.print(`In the Temporal UI: ${output.look('cyan', runLink(ui, server?.namespace ?? '', run.runId))}`);
}

async function stayUp({ worker }: Started): Promise<void> {
  output.print('\nThe server and its UI stay up. Ctrl-C ends them.');
  await untilInterrupted(signal, worker?.failed ?? new Promise<never>(() => undefined));
}

/**
 * Ends the run first, so that nothing is in flight, and the server last, so that the worker can report the results of its
 * calls.
 */
async function endAll({ run, result, worker, client, model, server }: Started): Promise<void> {
  if (signal.aborted) output.print(output.look('dim', '\nEnding what was started. Ctrl-C again ends it at once.'));
  await quietly(run !== undefined && result === undefined ? untilInterrupted(AbortSignal.timeout(GRACE_MS), cancelRun(run)) : undefined);
  await quietly(worker && untilInterrupted(AbortSignal.timeout(DRAIN_MS), worker.drain()));
  await quietly(client?.close());
  await quietly(model?.stop());
  await quietly(server?.stop());
}

async function cancelRun(run: RunHandle): Promise<void> {
  await run.cancel('the demo was ended');
  await run.result();
}

/** Ends one resource. If that fails, the resource ends with the process: the others must still be ended. */
async function quietly(ending: Promise<void> | undefined): Promise<void> {
  try {
    await ending;
  } catch {
    // The reason for ending has been reported; this error would only hide it.
  }
}

/** The flags, or undefined if the command line has anything else. */
function flags(): { exit: boolean } | undefined {
  try {
    return parseArgs({ options: { exit: { type: 'boolean', default: false } } }).values;
  } catch {
    process.stderr.write('Usage: npm run demo [-- --exit]\n  --exit   ends after the run, instead of staying up for the Temporal UI\n');
    return undefined;
  }
}

const given = flags();
const exitCode = given === undefined ? EXIT_CODES.usage.code : await demo(given);
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
process.exit(exitCode);
