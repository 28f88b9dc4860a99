import type { ReplayVerdict } from '../../../worker/replayer.ts';
import { printable } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';
import type { ReplayedRun } from './replayed-run.ts';

/** The outcome of replaying a run: one line of `--json`. */
export interface ReplayReport {
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
export function replayReport(run: ReplayedRun, replayed: number, verdict: ReplayVerdict): ReplayReport {
  return {
    runId: run.runId,
    verdict: verdict.type,
    executions: run.executions.length,
    ...(run.complete ? {} : { incomplete: true as const }),
    ...(run.file === undefined ? {} : { file: run.file }),
    ...(verdict.type === 'ok' ? {} : { problem: problemOf(run, replayed, verdict) }),
  };
}

function problemOf(run: ReplayedRun, replayed: number, verdict: Exclude<ReplayVerdict, { type: 'ok' }>): ReplayProblem {
  const divergence = verdict.type === 'diverged' ? verdict.divergence : null;
  const executionId = run.executions[replayed - 1]?.executionId;
  return {
    execution: replayed,
    ...(executionId === undefined ? {} : { executionId }),
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
