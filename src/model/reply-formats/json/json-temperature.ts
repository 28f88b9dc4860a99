import { isToolCall } from '../../../core/domain/content/content.ts';
import type { ConversationEvent } from '../../../core/domain/model/model.ts';
import { unusableReason } from '../unusable-reply.ts';
import { isArgumentError } from './argument-error.ts';

const FIRST = 0.7;
const STEP = 0.2;
const HIGHEST = 2;

/**
 * Returns the temperature of the next call. It begins at `first` (0.7) with each message of a user, and rises by 0.2, to 2 at most,
 * after each answer that could not be used and each call whose arguments were invalid.
 */
export function jsonTemperature(conversation: readonly ConversationEvent[], first: number = FIRST): number {
  let failures = 0;
  for (const { content } of conversation) {
    if (content.some((item) => item.type === 'message' && item.role === 'user')) failures = 0;
    const isUnusable = content.filter(isToolCall).some((call) => unusableReason(call) !== undefined);
    const isInvalid = content.some((item) => item.type === 'tool_result' && isArgumentError(item));
    if (isUnusable || isInvalid) failures += 1;
  }
  if (failures === 0) return first;
  // Rounded, because the sum of such fractions is not exact.
  return Math.max(first, Math.min(HIGHEST, Math.round((first + failures * STEP) * 1e6) / 1e6));
}
