import type { ChatCompletion } from 'openai/resources/chat/completions';
import { isLimitStatus } from '../../../../core/domain/run/status.ts';
import { type EndedRun, wasCutOff, wasWithheld } from '../answering/ended-run.ts';

/**
 * Returns the reason for which a completion ends, or undefined if its run has failed or was cancelled: that is an error. `lastFinish`: the
 * reason for which the model ended its last answer.
 */
export function finishReason(result: EndedRun, lastFinish: string | undefined): ChatCompletion.Choice['finish_reason'] | undefined {
  if (wasWithheld(result)) return 'content_filter';
  if (result.status === 'completed') return wasCutOff(result, lastFinish) ? 'length' : 'stop';
  return isLimitStatus(result.status) ? 'length' : undefined;
}
