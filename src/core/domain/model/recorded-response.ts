import type { ApprovalRequirement } from '../approvals/approval.ts';
import type { ContentItem } from '../content/content.ts';
import type { JsonValue } from '../json/json.ts';
import type { FinishReason } from '../record/step.ts';
import type { Spent, UsageStats } from './usage.ts';

/** What came of checking a structured answer. The answer itself is not repeated where it can be read from the content. */
export type OutputVerdict =
  /** The text (or the argument of `final_answer`) is the output as it stands. */
  | { type: 'fits' }
  /** It fits, and parsing changed it (defaults, transforms). */
  | { type: 'parsed'; value: JsonValue }
  /** It does not fit; the problem is for the model to read. */
  | { type: 'problem'; problem: string };

/** A model response as it enters history: checked, with every call named and identified. */
export interface RecordedResponse {
  /** The id of its event. */
  id: string;
  /** At most one assistant message, then the tool calls in the model's order, with ids unique in what the model has seen. */
  content: ContentItem[];
  finishReason: FinishReason;
  usage: UsageStats | null;
  /** Call id → why the call must not run, for the model to read. */
  problems?: Record<string, string>;
  /** Call id → the terms on which it waits for a decision. Calls that need none are left out. */
  approvals?: Record<string, ApprovalRequirement>;
  /** What the attempts before cost that failed. */
  failedAttempts?: Spent;
  output?: OutputVerdict;
  refusal?: string;
  confidence?: number;
  providerItems?: JsonValue[];
}
