import { LonghaulError } from '../core/domain/errors/error.ts';

/** The id of a run, if it can be one. Throws `invalid_input` for what is no text, or empty. */
export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && runId.trim() !== '') return runId;
  throw new LonghaulError(
    'invalid_input',
    `The run id is ${JSON.stringify(runId) ?? 'missing'}: write the id of a run, as "start" returned it`,
  );
}
