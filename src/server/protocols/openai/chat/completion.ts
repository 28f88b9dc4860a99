import type { ChatCompletion } from 'openai/resources/chat/completions';
import { type EndedRun, refusalOf } from '../answering/ended-run.ts';
import { outputText } from '../../../../core/domain/content/output-text.ts';
import { completionUsage } from './completion-usage.ts';
import { finishReason } from './finish-reason.ts';
import { runFailed } from '../errors/run-failed.ts';

/** The facts about a run that each part of its completion has. */
export interface CompletionFacts {
  runId: string;
  agent: string;
  /** Seconds since the epoch. */
  createdAt: number;
}

/** Returns the completion of a run that has ended. Throws the error of a run that has failed or was cancelled. */
export function completionOf(
  { runId, agent, createdAt }: CompletionFacts,
  result: EndedRun,
  lastFinish: string | undefined,
): ChatCompletion {
  const reason = finishReason(result, lastFinish);
  if (reason === undefined) throw runFailed(result);
  const refusal = refusalOf(result);
  const message = {
    role: 'assistant' as const,
    content: refusal === undefined ? outputText(result.output) : null,
    refusal: refusal ?? null,
  };
  return {
    id: runId,
    object: 'chat.completion',
    created: createdAt,
    model: agent,
    choices: [{ index: 0, message, finish_reason: reason, logprobs: null }],
    usage: completionUsage(result),
  };
}
