import type { Client } from '@temporalio/client';
import type { Event } from '../core/domain/record/event.ts';
import type { StepResult } from '../core/domain/record/step.ts';
import { isGone } from './execution-chain.ts';
import { type ReadBackRun, readBack } from './read-back.ts';
import { recordedExecution } from './execution-reader.ts';
import type { ExecutionEnd } from './recorded-execution.ts';
import { type ChainedExecution, executionBeginning } from './execution-beginning.ts';

/** What one execution of a run has recorded, read from its history. */
export interface ReadExecution {
  /** Temporal's run id. */
  executionId: string;
  /** The execution before; undefined for the first. */
  continuedFrom?: string;
  run: ReadBackRun;
  /** Offset of the first event. */
  firstOffset: number;
  events: Event[];
  /** Index of the first step. */
  firstStep: number;
  steps: StepResult[];
  /** Undefined while it goes on. */
  end?: ExecutionEnd;
  /** Where the next execution says that it begins: what is recorded there must be all up to here. */
  next?: { firstOffset: number; firstStep: number };
}

/** Reads one execution. Undefined where the server does not have it. */
export async function readExecution(client: Client, runId: string, executionId: string): Promise<ReadExecution | undefined> {
  let recorded;
  try {
    recorded = await recordedExecution(client, runId, executionId);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
  const { end, continuedFrom } = recorded;
  const carry = end?.type === 'continued' ? (await executionBeginning(client, runId, end.executionId))?.carry : undefined;
  const run = await readBack(runId, recorded, carry);
  const { state } = run;
  const steps = state?.steps ?? [];
  return {
    executionId,
    ...(continuedFrom === undefined ? {} : { continuedFrom }),
    run,
    firstOffset: state?.firstOffset ?? 0,
    events: state?.context.events ?? [],
    firstStep: (state?.context.currentStep ?? 0) - steps.length,
    steps,
    ...(end === undefined ? {} : { end }),
    ...(carry === undefined ? {} : { next: { firstOffset: carry.window.through, firstStep: carry.currentStep } }),
  };
}

/** Which part of a run to read: from the execution that holds the event (or the step), up to one that begins at the other offset or after it. */
export interface ReadRange {
  fromOffset?: number;
  fromStep?: number;
  untilOffset?: number;
}

/** Finds the executions of a run, the oldest first. */
export interface ExecutionLookUp {
  executions(): Promise<ChainedExecution[]>;
}

/**
 * Reads a run execution by execution, the oldest first, so that no more than one is in memory. It goes on with
 * executions that begin meanwhile, up to what is recorded of the newest. Where the server has removed the beginning, it
 * begins with what is left.
 */
export async function* readRun(
  client: Client,
  runId: string,
  chain: ExecutionLookUp,
  range: ReadRange = {},
): AsyncGenerator<ReadExecution> {
  const { untilOffset = Infinity } = range;
  const executions = await chain.executions();
  let next = executions[holder(executions, range)]?.executionId;
  while (next !== undefined) {
    const read = await readExecution(client, runId, next);
    const after = following(executions, next);
    if (read === undefined) {
      // Removed since it was looked up: those after it are still there.
      next = after;
      continue;
    }
    if (read.firstOffset >= untilOffset) return;
    yield read;
    // Where the one after it was reset, an execution still names the one that is over.
    next = after ?? (read.end?.type === 'continued' ? read.end.executionId : undefined);
  }
}

/** The execution that comes after another one; undefined for the last that is known. */
function following(executions: readonly ChainedExecution[], executionId: string): string | undefined {
  const index = executions.findIndex((one) => one.executionId === executionId);
  return index === -1 ? undefined : executions[index + 1]?.executionId;
}

/** The place of the execution to begin with. */
function holder(executions: readonly ChainedExecution[], { fromOffset = Infinity, fromStep = Infinity }: ReadRange): number {
  if (fromOffset === Infinity && fromStep === Infinity) return 0;
  return Math.max(
    0,
    executions.findLastIndex(({ firstOffset, firstStep }) => firstOffset <= fromOffset && firstStep <= fromStep),
  );
}
