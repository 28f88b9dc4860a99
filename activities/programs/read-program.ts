import { activityInfo, getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { StoredOutput } from '../../src/core/domain/program/messages.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import type { EarlierRun, ProgramState } from '../../src/core/domain/program/program-state.ts';
import { isSame, type Principal } from '../../src/core/domain/run/principal.ts';
import type { ReadProgramInput } from '../../src/core/protocol.ts';
import { executionBeginning } from '../../src/history/execution-beginning.ts';
import { readExecution } from '../../src/history/read-run.ts';
import { runNotFound } from '../../src/temporal/run-outcome.ts';
import { failingAs } from '../failures/failure.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { OutputStore } from './output-store.ts';

/** The most bytes of results that a run takes over: they are carried until the steps that need them have begun. */
const MAX_BYTES = 1_000_000;

/** Creates the activity that reads the program, the input and the results of an earlier run from its history, without its worker. */
export function readProgramActivity({ stepValues }: ActivityRuntime): (input: ReadProgramInput) => Promise<EarlierRun> {
  return failingAs('internal', (input) => read(stepValues.store, input));
}

async function read(store: OutputStore, { runId }: ReadProgramInput): Promise<EarlierRun> {
  const client = getClient();
  const { runId: executionId } = await client.workflow
    .getHandle(runId)
    .describe()
    .catch((error: unknown) => {
      throw error instanceof WorkflowNotFoundError ? runNotFound(client, runId) : error;
    });
  const run = (await readExecution(client, runId, executionId))?.run;
  // The caller must not learn that the run of another principal exists, nor get anything of it.
  if (run === undefined || !isSame(run.principal ?? {}, (await ownPrincipal(client)) ?? {})) throw runNotFound(client, runId);
  const program = run.state?.program;
  if (program === undefined)
    throw new LonghaulError('invalid_input', `Run "${runId}" cannot be resumed: it is no run of a program, or it never began`);
  return earlierRun(runId, program, (stored) => store.get(stored, { namespace: client.options.namespace, runId }));
}

/** Returns whom the run that the current activity belongs to acts for. */
async function ownPrincipal(client: Client): Promise<Principal | undefined> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return undefined;
  return (await executionBeginning(client, workflowExecution.workflowId, workflowExecution.runId))?.principal;
}

/** Returns what a run takes over of an earlier one. `load` loads an output from the payload store. */
export async function earlierRun(
  runId: string,
  { document, input, steps }: Pick<ProgramState, 'document' | 'input' | 'steps'>,
  load: (stored: StoredOutput) => Promise<JsonValue>,
): Promise<EarlierRun> {
  const ended = [...steps].filter(([, { status }]) => status === 'completed');
  const stored = ended.reduce((sum, [, { output, spilled }]) => sum + (output === undefined ? (spilled?.bytes ?? 0) : 0), 0);
  const earlier: EarlierRun = { document, input, outputs: [] };
  requireFitting(runId, stored + jsonBytes(earlier));
  for (const [address, { output, spilled, outputId: id }] of ended) {
    if (output !== undefined) earlier.outputs.push([address, output]);
    else if (spilled !== undefined && id !== undefined) earlier.outputs.push([address, await load({ address, id, spilled })]);
  }
  requireFitting(runId, jsonBytes(earlier));
  return earlier;
}

function requireFitting(runId: string, bytes: number): void {
  if (bytes <= MAX_BYTES) return;
  throw new LonghaulError(
    'payload_too_large',
    `The results of run "${runId}" are ${bytes} bytes of JSON, over ${MAX_BYTES}: resume from an earlier step, or start anew`,
  );
}
