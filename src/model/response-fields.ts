import type { FinishReason } from '../core/domain/record/step.ts';

/** The finish reason as a short text; what fits the content where the provider gave none. */
export function cleanFinishReason(reason: unknown, hasToolCalls: boolean): FinishReason {
  if (typeof reason === 'string' && reason.trim() !== '') return reason.slice(0, 64).toWellFormed();
  return hasToolCalls ? 'tool_calls' : 'stop';
}

/** The confidence, where it is a number from 0 to 1. */
export function cleanConfidence(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value + 0 : undefined;
}
