import type { ToolCall } from '../../core/domain/content/content.ts';

/**
 * The name of the call that stands for an answer which has not the form that the agent asks for. No tool has it: the call never
 * runs, and its result tells the model what is wrong.
 */
export const UNUSABLE_REPLY = 'unusable_reply';

/** The reason why an answer cannot be used. */
export type UnusableReason = 'not_json' | 'scratchpad' | 'empty';

/** Returns the reason that a call of `unusable_reply` records; undefined for any other call. */
export function unusableReason({ name, arguments: { reason } }: Pick<ToolCall, 'name' | 'arguments'>): UnusableReason | undefined {
  if (name !== UNUSABLE_REPLY) return undefined;
  return reason === 'scratchpad' || reason === 'empty' ? reason : 'not_json';
}
