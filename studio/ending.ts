import type { StreamedResult } from './api-types.ts';
import { span } from './format.ts';
import { limitsText } from './notes.ts';
import { TEXTS } from './texts.ts';

// Why a run has ended, in sentences.

/** The limits that a stop reason is about, by their names. */
const LIMITS_OF: Readonly<Record<string, readonly string[]>> = {
  step_limit: ['steps'],
  token_budget: ['inputTokens', 'outputTokens', 'totalTokens'],
  cost_budget: ['costUsd'],
  tool_call_limit: ['toolCalls', 'toolCallsByName'],
};

type Ended = Pick<
  StreamedResult,
  'stopReason' | 'limits' | 'error' | 'errorCode' | 'cancelReason' | 'guardrail' | 'notArchived' | 'status'
>;

/** Says why a run has ended: nothing of one that has answered. */
export function endingTexts(result: Ended): string[] {
  const { endings } = TEXTS;
  const why = whyEnded(result);
  const lost = (result.notArchived ?? []).map(({ from, through, message }) => endings.notArchived(from, through, message));
  return [...(why === undefined ? [] : [why]), ...lost];
}

function whyEnded({ status, stopReason, limits, error, errorCode, cancelReason, guardrail }: Ended): string | undefined {
  const { endings, subjects } = TEXTS;
  if (stopReason === 'cancelled') return endings.cancelled(cancelReason);
  if (stopReason === 'closed') return endings.closed;
  if (stopReason === 'deadline') return endings.deadline(limits.deadlineMs === undefined ? undefined : span(limits.deadlineMs));
  const names = LIMITS_OF[stopReason];
  if (names !== undefined) {
    const entries = Object.entries(limits).filter(([name]) => names.includes(name));
    return endings.limit(limitsText(Object.fromEntries(entries)) || stopReason.replaceAll('_', ' '));
  }
  const { name, type, message } = (guardrail ?? {}) as { name?: string; type?: string; message?: string };
  if (name !== undefined) return endings.guardrail(name, subjects[type ?? ''] ?? 'it', message ?? '');
  if (error !== null) return endings.failed(errorCode, error);
  return status === 'error' ? endings.failedWithout : undefined;
}
