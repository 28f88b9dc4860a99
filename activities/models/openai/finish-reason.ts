import type { FinishReason } from '../../../src/core/domain/record/step.ts';
import { finishReasonOf } from '../../../src/model/finish-words.ts';

/**
 * The finish reason in our words, or the provider's own word where there is none. What the answer holds counts more
 * than `stop`: servers say it beside tool calls and beside refusals. It does not count more than a word that is not
 * known: the answer may have been cut off.
 */
export function normalFinishReason(word: string | undefined, answer: { toolCalls: number; refusal: string }): FinishReason {
  const known = finishReasonOf(word ?? 'stop');
  if (known === 'length' || known === 'content_filter') return known;
  if (answer.refusal !== '') return 'refusal';
  return answer.toolCalls > 0 && known === 'stop' ? 'tool_calls' : known;
}
