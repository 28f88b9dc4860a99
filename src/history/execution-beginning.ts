import type { Client } from '@temporalio/client';
import type { Principal } from '../core/domain/run.ts';
import type { ContinueAsNewState } from '../core/loop/state/continue-as-new-state.ts';
import { startedEvent } from './execution-chain.ts';
import { ExecutionReader } from './execution-reader.ts';

/** One execution of a run, and the first event and step that it records. */
export interface ChainedExecution {
  /** Temporal's run id. */
  executionId: string;
  /** The execution before; undefined for the first. */
  continuedFrom?: string;
  /** Offset of the first event that it records. */
  firstOffset: number;
  /** Index of the first step that it records. */
  firstStep: number;
  /** The first turn that can end in it, if the run is a session. 1-based. */
  firstTurn: number;
}

/** The beginning of an execution. */
export interface ExecutionBeginning {
  /** The execution before; undefined for the first. */
  before?: string;
  /** The state that it carried over. */
  carry?: ContinueAsNewState;
  /** Whom the run acts for. */
  principal?: Principal;
  /** The run that started this one. Absent: none did. */
  parentRunId?: string;
}

/** Returns the beginning of an execution, by default the newest one; undefined if the server does not have it. */
export async function executionBeginning(client: Client, runId: string, executionId?: string): Promise<ExecutionBeginning | undefined> {
  const event = await startedEvent(client, runId, executionId);
  if (event === undefined) return undefined;
  const reader = new ExecutionReader(executionId ?? '', client.options.loadedDataConverter);
  await reader.read(event);
  const { carry, input, program, continuedFrom: before } = reader.execution;
  const { principal, parent } = carry ?? program ?? input ?? {};
  return {
    ...(principal === undefined ? {} : { principal }),
    ...(parent === undefined ? {} : { parentRunId: parent.runId }),
    ...(before === undefined ? {} : { before }),
    ...(carry === undefined ? {} : { carry }),
  };
}
