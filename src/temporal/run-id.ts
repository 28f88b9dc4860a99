import { LonghaulError } from '../core/domain/errors.ts';

/** Returns the id of a run. Throws `invalid_input` for a value that is no text, is empty, or has half of a surrogate pair, which no server can keep. */
export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && runId.trim() !== '' && runId.isWellFormed()) return runId;
  throw new LonghaulError(
    'invalid_input',
    `The run id is ${JSON.stringify(runId) ?? 'missing'}: write the id of a run, as "start" returned it`,
  );
}
