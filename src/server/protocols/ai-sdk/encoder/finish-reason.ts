import type { StopReason } from '../../../../core/domain/run/status.ts';
import type { UiFinishReason } from './ui-chunk.ts';

/** The limits of a run have no word of their own in the protocol: the metadata says which one it was. */
const REASONS: Record<StopReason, UiFinishReason> = {
  final_answer: 'stop',
  closed: 'stop',
  step_limit: 'other',
  token_budget: 'other',
  cost_budget: 'other',
  tool_call_limit: 'other',
  deadline: 'other',
  guardrail: 'content-filter',
  cancelled: 'interrupted',
  error: 'error',
};

/** Returns the finish reason of a turn that ended for a reason. */
export function finishReasonOf(stopReason: StopReason): UiFinishReason {
  return REASONS[stopReason];
}
