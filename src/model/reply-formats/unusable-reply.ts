import type { ToolCall } from '../../core/domain/content.ts';
import { UNUSABLE_REPLY } from '../../core/domain/tool-calls.ts';

/** The reason why an answer cannot be used. */
export type UnusableReason = 'not_json' | 'scratchpad' | 'empty';

/** Returns the reason that a call of `unusable_reply` records; undefined for any other call. */
export function unusableReason({ name, arguments: { reason } }: Pick<ToolCall, 'name' | 'arguments'>): UnusableReason | undefined {
  if (name !== UNUSABLE_REPLY) return undefined;
  return reason === 'scratchpad' || reason === 'empty' ? reason : 'not_json';
}
