import type { Client } from '@temporalio/client';
import type { Event } from '../core/domain/record.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import { isGone } from './execution-chain.ts';
import { type ReadBackRun, readBack } from './read-back.ts';
import { recordedExecution } from './execution-reader.ts';
import type { ExecutionEnd } from './recorded-execution.ts';
import { type ChainedExecution, executionBeginning } from './execution-beginning.ts';

/** The record of one execution of a run, read from its history. */
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
  /** Undefined while the execution is running. */
  end?: ExecutionEnd;
  /** The first offset and step of the next execution: this execution must have recorded everything before them. */
  next?: { firstOffset: number; firstStep: number };
}

/** Reads one execution, or returns undefined if the server does not have it. */
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

/**
 * The part of a run to read: from the execution that holds the given event or step, to the last one that begins
 * before `untilOffset`.
 */
export interface ReadRange {
  fromOffset?: number;
  fromStep?: number;
  /** 1-based. */
  fromTurn?: number;
  untilOffset?: number;
}

/** Finds the executions of a run, the oldest first. */
export interface ExecutionLookUp {
  executions(): Promise<ChainedExecution[]>;
}

/**
 * Reads a run execution by execution, the oldest first, so that only one is in memory. It includes executions that
 * begin while it reads, and starts with the oldest one left if the server has removed earlier ones.
 */
export async function* readRun(
  client: Client,
  runId: string,
  chain: ExecutionLookUp,
  range: ReadRange = {},
): AsyncGenerator<ReadExecution> {
  const { untilOffset = Infinity } = range;
  const executions = await chain.executions();
  let next = executions[firstIndex(executions, range)]?.executionId;
  while (next !== undefined) {
    const read = await readExecution(client, runId, next);
    const after = executionAfter(executions, next);
    if (read === undefined) {
      // This execution was removed after the chain was looked up; later ones still exist.
      next = after;
      continue;
    }
    if (read.firstOffset >= untilOffset) return;
    yield read;
    // If the next execution was reset, this one still names the execution that the reset replaced.
    next = after ?? (read.end?.type === 'continued' ? read.end.executionId : undefined);
  }
}

/** Returns the execution after another one, or undefined for the last known one. */
function executionAfter(executions: readonly ChainedExecution[], executionId: string): string | undefined {
  const index = executions.findIndex((one) => one.executionId === executionId);
  return index === -1 ? undefined : executions[index + 1]?.executionId;
}

/** Returns the index of the execution to begin with. */
function firstIndex(
  executions: readonly ChainedExecution[],
  { fromOffset = Infinity, fromStep = Infinity, fromTurn = Infinity }: ReadRange,
): number {
  if (fromOffset === Infinity && fromStep === Infinity && fromTurn === Infinity) return 0;
  return Math.max(
    0,
    executions.findLastIndex(
      ({ firstOffset, firstStep, firstTurn }) => firstOffset <= fromOffset && firstStep <= fromStep && firstTurn <= fromTurn,
    ),
  );
}
