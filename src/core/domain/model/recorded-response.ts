import type { ApprovalRequirement } from '../approvals/approval.ts';
import type { ContentItem } from '../content/content.ts';
import type { CallReview } from '../hooks/hook-record.ts';
import type { GuardrailReport } from '../guardrails/guardrail.ts';
import type { JsonValue } from '../json/json.ts';
import type { Recalled } from '../memory/recalled.ts';
import type { AnswerVerdict } from '../program/verdict.ts';
import type { Notice } from '../record/notice.ts';
import type { FinishReason } from '../record/step.ts';
import type { Spent, UsageStats } from './usage.ts';

/** The outcome of checking a structured answer. The answer itself is not repeated if it can be read from the content. */
export type OutputVerdict =
  /** The text (or the argument of `final_answer`) is the output as it stands. */
  | { type: 'fits' }
  /** The answer fits, and parsing changed it (defaults, transforms). */
  | { type: 'parsed'; value: JsonValue }
  /** The answer does not fit; the model reads the problem. */
  | { type: 'problem'; problem: string };

/** A model response as it enters history: checked, with every call named and identified. */
export interface RecordedResponse extends Pick<CallReview, 'rewrites' | 'injections' | 'hooks'> {
  /** The id of the event that records the response. */
  id: string;
  /** At most one assistant message, then the tool calls in the model's order. Their ids are unique among those that the model has seen. */
  content: ContentItem[];
  finishReason: FinishReason;
  usage: UsageStats | null;
  /** Call id → why the call must not run. The model reads it. */
  problems?: Record<string, string>;
  /** Call id → the approval that the call requires. Calls that need none are left out. */
  approvals?: Record<string, ApprovalRequirement>;
  /** The hooks with an activity of their own have reviewed the calls. */
  reviewed?: true;
  /** The checks of its calls by guardrails, if one did not simply pass, or a check has used a model. */
  guardrails?: GuardrailReport;
  /** The cost of the failed attempts before this response. */
  failedAttempts?: Spent;
  output?: OutputVerdict;
  /** The checks of the answer of an `ask` with tools. Absent for a response with further tool calls. */
  verdict?: AnswerVerdict;
  refusal?: string;
  confidence?: number;
  providerItems?: JsonValue[];
  /** What was changed in the request so that the provider took it. */
  notices?: Notice[];
  /** The entries of the memory that the model was given with this call for the first time: the loop records them before the answer. */
  recalled?: Recalled;
  /** The time at which the worker received it, in milliseconds since the epoch: the clock of its cells. Only for agents that run code. */
  receivedAt?: number;
}
