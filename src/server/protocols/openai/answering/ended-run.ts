import type { StreamedResult } from '../../../../client/stream/stream-item.ts';
import type { RunResult } from '../../../../core/domain/result.ts';

/** The part of a result that answers show: of the result of a handle as of the one that ends a stream. */
export interface EndedRun extends Pick<StreamedResult, 'runId' | 'agentName' | 'status' | 'stopReason' | 'usage' | 'endTime' | 'error'> {
  output: unknown;
  below?: StreamedResult['below'] | undefined;
  errorCode?: string | undefined;
  finishReason?: string | undefined;
  cancelReason?: string | undefined;
}

/** Codes of runs whose answer was withheld. */
const WITHHELD = new Set(['content_filter', 'model_refusal', 'guardrail_tripped']);

/** True if a guardrail, the provider or the model itself withheld the answer. */
export function wasWithheld({ stopReason, errorCode }: Pick<EndedRun, 'stopReason' | 'errorCode'>): boolean {
  return stopReason === 'guardrail' || (errorCode !== undefined && WITHHELD.has(errorCode));
}

/** Returns the words in which the model refused to answer, or undefined if it did not. They are no text of the record. */
export function refusalOf({ errorCode, error }: Pick<EndedRun, 'errorCode' | 'error'>): string | undefined {
  return errorCode === 'model_refusal' ? (error ?? '') : undefined;
}

/** True if the model was cut off in the answer. `lastFinish`: the reason for which it ended its last answer. */
export function wasCutOff({ status, finishReason }: Pick<EndedRun, 'status' | 'finishReason'>, lastFinish: string | undefined): boolean {
  // The answer may be that of an agent that the run has called, whose steps are not its own.
  return status === 'completed' && (finishReason ?? lastFinish) === 'length';
}

/** Returns the reason for which the model ended its last answer. The result must have been requested with its steps. */
export function lastFinishOf({ steps }: Pick<RunResult<unknown>, 'steps'>): string | undefined {
  return steps?.at(-1)?.finishReason;
}
