import type { ReplayVerdict } from '../../../worker/replayer.ts';
import { printable } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';
import type { ReplayedRun } from './replayed-run.ts';

/** What became of a run in a replay: the line of `--json`. */
export interface ReplayReport {
  runId: string;
  /** `diverged`: the code does something else than the history. `failed`: it could not be replayed at all. */
  verdict: 'ok' | 'diverged' | 'failed';
  /** How many executions the run consists of. */
  executions: number;
  /** The server has removed the first of them. */
  incomplete?: true;
  file?: string;
  problem?: ReplayProblem;
}

/** Where the replay of a run ended, and why. */
interface ReplayProblem {
  /** 1-based; its Temporal run id where it is known. */
  execution: number;
  executionId?: string;
  /** Step of the run; null before the first call of that execution. */
  step: number | null;
  /** Of the history: the first command that differs, what it is there and what the code does instead. Null where the SDK alone knows. */
  eventId: number | null;
  expected: string | null;
  actual: string | null;
  /** In the words of the SDK. */
  message: string;
}

/** The report of a run of which `replayed` executions were replayed, the last with this verdict. */
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

/** The lines of a report, for people. */
export function reportLines(report: ReplayReport, output: Pick<Output, 'look'>): string[] {
  const { runId, verdict, executions, incomplete, file, problem } = report;
  const parts = `${executions} executions${incomplete ? ', earlier ones are gone' : ''}`;
  const about = [executions > 1 || incomplete ? parts : '', file ?? ''].filter((text) => text !== '').join(', ');
  const head = `${output.look(verdict === 'ok' ? 'green' : 'red', verdict.padEnd(8))}  ${printable(runId)}${about === '' ? '' : ` (${about})`}`;
  return problem === undefined ? [head] : [head, `          ${place(report, problem)}: ${printable(difference(problem))}`];
}

function place({ executions }: ReplayReport, { execution, executionId, step }: ReplayProblem): string {
  const where = executions > 1 ? `execution ${execution} of ${executions}${executionId === undefined ? '' : ` (${executionId})`}, ` : '';
  return `${where}${step === null ? 'before any step' : `step ${step}`}`;
}

function difference({ eventId, expected, actual, message }: ReplayProblem): string {
  if (expected === null || actual === null) return message;
  return `history has ${expected} (event ${eventId}), the code does ${actual}`;
}
