import type { FinishReason } from '../../../src/core/domain/record/step.ts';
import { finishFault, finishReasonOf } from '../../../src/model/finish-words.ts';

/**
 * Returns the finish reason of Longhaul, or the provider's own word if there is none. The content of the answer
 * overrules `stop`, which servers also report for tool calls and refusals. It does not overrule an unknown word: the
 * answer may have been cut off.
 */
export function normalFinishReason(word: string | undefined, answer: { toolCalls: number; refusal: string }): FinishReason {
  const known = finishReasonOf(word ?? 'stop');
  if (known === 'length' || finishFault(known) !== undefined) return known;
  if (answer.refusal !== '') return 'refusal';
  return answer.toolCalls > 0 && known === 'stop' ? 'tool_calls' : known;
}
