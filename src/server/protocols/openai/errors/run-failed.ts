import type { EndedRun } from '../answering/ended-run.ts';
import { httpStatusOf } from '../../../problems/problem-of.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { type ErrorCode, isErrorCode } from '../../../../core/domain/errors.ts';
import { modelNotFound, NO_RETRY, OpenaiRefusal } from './openai-refusal.ts';

/** Returns the error of a run that has failed or was cancelled. A client that sends the request again gets it again. */
export function runFailed({ runId, agentName, status, error, errorCode, cancelReason }: EndedRun): OpenaiRefusal {
  const parts = { headers: { ...NO_RETRY, ...runHeaders(runId) } };
  if (errorCode === 'unknown_agent') return modelNotFound(agentName, parts);
  if (status === 'cancelled') {
    const why = cancelReason === undefined ? '' : `: ${cancelReason}`;
    return new OpenaiRefusal('run_ended', `Run "${runId}" was cancelled${why}`, { code: 'run_cancelled' }, parts);
  }
  const code: ErrorCode = isErrorCode(errorCode) ? errorCode : 'internal';
  const openai = { code, status: httpStatusOf(code) === 503 ? 503 : 500 };
  return new OpenaiRefusal('run_ended', `Run "${runId}" has failed: ${error ?? 'no reason is known'}`, openai, parts);
}

/** Returns the error of a stream of chat completions whose text is not that of the run any more. */
export function streamSuperseded(): OpenaiRefusal {
  const message =
    'The model was called again, and the text so far is not part of the answer: drop it, and send the request again with the same ' +
    '"Idempotency-Key" for the whole answer. The run goes on';
  return new OpenaiRefusal('run_open', message, { code: 'stream_superseded', status: 500 });
}
