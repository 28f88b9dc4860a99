import { getClient } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { EarlierRun } from '../../src/core/domain/program/program-state.ts';
import type { ReadProgramInput } from '../../src/core/protocol.ts';
import { readExecution } from '../../src/history/read-run.ts';
import { runNotFound } from '../../src/temporal/run-outcome.ts';
import { failingAs } from '../failures/failure.ts';

/** The most bytes of results that a run takes over: they are carried until the steps that need them have begun. */
const MAX_BYTES = 1_000_000;

/** Reads the program, the input and the results of an earlier run from its history, without its worker. */
export const readProgram: (input: ReadProgramInput) => Promise<EarlierRun> = failingAs('internal', read);

async function read({ runId }: ReadProgramInput): Promise<EarlierRun> {
  const client = getClient();
  const { runId: executionId } = await client.workflow
    .getHandle(runId)
    .describe()
    .catch((error: unknown) => {
      throw error instanceof WorkflowNotFoundError ? runNotFound(client, runId) : error;
    });
  const program = (await readExecution(client, runId, executionId))?.run.state?.program;
  if (program === undefined)
    throw new LonghaulError('invalid_input', `Run "${runId}" cannot be resumed: it is no run of a program, or it never began`);
  const outputs: EarlierRun['outputs'] = [...program.steps].flatMap(([at, { status, output }]) =>
    status === 'completed' && output !== undefined ? [[at, output]] : [],
  );
  const earlier = { document: program.document, input: program.input, outputs };
  const bytes = jsonBytes(earlier);
  if (bytes <= MAX_BYTES) return earlier;
  throw new LonghaulError(
    'payload_too_large',
    `The results of run "${runId}" are ${bytes} bytes of JSON, over ${MAX_BYTES}: resume from an earlier step, or start anew`,
  );
}
