import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Replayer, ReplayerOptions, ReplayVerdict } from '../../../worker/replayer.ts';
import { defined, isJsonObject, type JsonValue } from '../../core/domain/json.ts';
import { errorMessage, UsageError } from '../../core/domain/errors.ts';
import { printable } from '../../core/domain/text.ts';
import { chosenCodec, withClient } from '../command.ts';
import type { CommandIo } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { untilInterrupted } from '../terminal.ts';
import { readUserFile } from '../input-files.ts';
import type { ReplayedRun, ServerRuns } from './replay-server.ts';
import type { ReplayFlags } from '../run-commands.ts';

/** Replays histories with the current workflow code, and reports each run that this code would leave stuck. */
export async function replay(io: CommandIo, flags: ReplayFlags): Promise<number> {
  const options = { ...(await workflowsOf(flags)), codec: chosenCodec(flags, io.terminal.env) };
  if (flags.paths.length > 0) {
    const files = (await Promise.all(flags.paths.map((path) => filesAt(path)))).flat();
    return await untilInterrupted(io.terminal.signal, replayRuns(io, runsInFiles(files), options));
  }
  return await withClient(io, flags, async ({ client: { temporal } }) => {
    const { runsOnServer } = await import('./replay-server.ts');
    return await replayRuns(io, runsOnServer(temporal, serverRuns(flags)), options);
  });
}

async function replayRuns(io: CommandIo, runs: AsyncIterable<ReplayedRun>, options: ReplayerOptions): Promise<number> {
  const { output, terminal } = io;
  await installSilentRuntime();
  const { Replayer } = await import('../../../worker/replayer.ts');
  const replayer = new Replayer(options);
  const counts = { ok: 0, diverged: 0, failed: 0 };
  try {
    for await (const run of runs) {
      terminal.signal.throwIfAborted();
      const report = await replayRun(replayer, run);
      counts[report.verdict] += 1;
      output.result(report, reportLines(report, output));
    }
  } finally {
    await replayer.close();
  }
  output.note(summary(counts));
  return counts.diverged + counts.failed === 0 ? EXIT_CODES.ok.code : EXIT_CODES.diverged.code;
}

/** Replays a run up to the first execution that does not replay: later ones depend on it. */
async function replayRun(replayer: Replayer, run: ReplayedRun): Promise<ReplayReport> {
  let replayed = 0;
  for (const execution of run.executions) {
    replayed += 1;
    const verdict = await replayer.replay(run.runId, await execution.load());
    if (verdict.type !== 'ok') return replayReport(run, replayed, verdict);
  }
  return replayReport(run, replayed, { type: 'ok' });
}

function summary({ ok, diverged, failed }: Record<ReplayReport['verdict'], number>): string {
  const runs = ok + diverged + failed;
  if (runs === 0) return 'No runs to replay: without --type, only runs of agents are replayed, not workflows of your own.';
  const bad = [diverged === 0 ? '' : `${diverged} diverged`, failed === 0 ? '' : `${failed} failed`].filter((text) => text !== '');
  return `${ok} of ${runs} ${runs === 1 ? 'run continues' : 'runs continue'} with this code${bad.length === 0 ? '.' : `; ${bad.join(', ')}.`}`;
}

async function workflowsOf({ workflows }: ReplayFlags): Promise<ReplayerOptions> {
  if (workflows === undefined) return {};
  const workflowsPath = resolve(workflows);
  const found = await stat(workflowsPath).catch(() => undefined);
  if (found?.isFile()) return { workflowsPath };
  throw new UsageError(
    `The workflows module "${workflows}" is not a file (looked for "${workflowsPath}"): name the file, such as workflows.ts`,
  );
}

function serverRuns({ agent, query, type, limit, save }: ReplayFlags): ServerRuns {
  return {
    limit,
    ...defined({ agent, query, workflowType: type, save }),
  };
}

let installed: Promise<void> | undefined;

/**
 * Silences the log of Temporal's SDK: a replay reports every problem itself, and the SDK would log each one again.
 * Must be called before anything else of the SDK's worker is used. Calling it again has no effect.
 */
export async function installSilentRuntime(): Promise<void> {
  installed ??= install();
  await installed;
}

async function install(): Promise<void> {
  const { DefaultLogger, Runtime } = await import('@temporalio/worker');
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}

/** Yields the histories in files: one execution each, in the format of `temporal workflow show --output json` and `--save`. */
async function* runsInFiles(files: readonly string[]): AsyncGenerator<ReplayedRun> {
  for (const file of files) {
    const history = await readJson(file);
    const runId = workflowIdIn(history) ?? basename(file, '.json');
    yield { runId, file, complete: true, executions: [{ load: () => Promise.resolve(history) }] };
  }
}

/** Returns the files of a path: the file itself, or the histories in the folder. Throws a UsageError if there are none. */
async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw new UsageError(
      `There is no file or folder "${path}" to replay: name one, or a run of the server with --query "WorkflowId = '…'"`,
    );
  if (!found.isDirectory()) return [path];
  const files = (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted();
  if (files.length === 0) throw new UsageError(`The folder "${path}" holds no histories: files that end in ".json" are looked for`);
  return files.map((name) => join(path, name));
}

async function readJson(file: string): Promise<JsonValue> {
  const text = await readUserFile(file, 'history');
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new UsageError(`The history "${file}" is not JSON: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * Returns the workflow id in a history. Only newer servers write it; for older histories the file name is used
 * instead.
 */
function workflowIdIn(history: JsonValue): string | undefined {
  const events = Array.isArray(history) ? history : isJsonObject(history) ? history['events'] : undefined;
  const first = Array.isArray(events) ? events[0] : undefined;
  const started = isJsonObject(first) ? first['workflowExecutionStartedEventAttributes'] : undefined;
  const id = isJsonObject(started) ? started['workflowId'] : undefined;
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The outcome of replaying a run: one line of `--json`. */
interface ReplayReport {
  runId: string;
  /**
   * `diverged`: the code does something other than what the history records. `failed`: the run could not be replayed
   * at all.
   */
  verdict: 'ok' | 'diverged' | 'failed';
  /** The number of executions of the run. */
  executions: number;
  /** True if the server has removed the first executions. */
  incomplete?: true;
  file?: string;
  problem?: ReplayProblem;
}

/** The point at which the replay of a run ended, and the reason. */
interface ReplayProblem {
  /** The number of the execution, 1-based. `executionId` is its Temporal run id, if known. */
  execution: number;
  executionId?: string;
  /** The step of the run; null before the first call of that execution. */
  step: number | null;
  /**
   * The first command of the history that differs, as recorded and as the code produces it. Null if only the SDK's
   * message describes the difference.
   */
  eventId: number | null;
  expected: string | null;
  actual: string | null;
  /** The message of the SDK. */
  message: string;
}

/** Returns the report of a run of which `replayed` executions were replayed, the last one with this verdict. */
function replayReport(run: ReplayedRun, replayed: number, verdict: ReplayVerdict): ReplayReport {
  return {
    runId: run.runId,
    verdict: verdict.type,
    executions: run.executions.length,
    ...(run.complete ? {} : { incomplete: true as const }),
    ...defined({ file: run.file }),
    ...(verdict.type === 'ok' ? {} : { problem: problemOf(run, replayed, verdict) }),
  };
}

function problemOf(run: ReplayedRun, replayed: number, verdict: Exclude<ReplayVerdict, { type: 'ok' }>): ReplayProblem {
  const divergence = verdict.type === 'diverged' ? verdict.divergence : null;
  const executionId = run.executions[replayed - 1]?.executionId;
  return {
    execution: replayed,
    ...defined({ executionId }),
    step: verdict.type === 'failed' ? verdict.step : (divergence?.step ?? null),
    eventId: divergence?.eventId ?? null,
    expected: divergence?.expected ?? null,
    actual: divergence?.actual ?? null,
    message: verdict.message,
  };
}

/** Returns the lines of a report, for people. */
export function reportLines(report: ReplayReport, output: Pick<Output, 'look'>): string[] {
  const { runId, verdict, executions, incomplete, file, problem } = report;
  const parts = `${executions} executions${incomplete ? ', earlier ones were removed' : ''}`;
  const about = [executions > 1 || incomplete ? parts : '', file ?? ''].filter((text) => text !== '').join(', ');
  const head = `${output.look(verdict === 'ok' ? 'green' : 'red', verdict.padEnd(8))}  ${printable(runId)}${about === '' ? '' : ` (${about})`}`;
  return problem === undefined ? [head] : [head, `          ${positionText(report, problem)}: ${printable(difference(problem))}`];
}

function positionText({ executions }: ReplayReport, { execution, executionId, step }: ReplayProblem): string {
  const prefix = executions > 1 ? `execution ${execution} of ${executions}${executionId === undefined ? '' : ` (${executionId})`}, ` : '';
  return `${prefix}${step === null ? 'before any step' : `step ${step}`}`;
}

function difference({ eventId, expected, actual, message }: ReplayProblem): string {
  if (expected === null || actual === null) return message;
  return `history has ${expected} (event ${eventId}), the code does ${actual}`;
}
