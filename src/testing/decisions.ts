import type { ApprovalView, Remember } from '../core/domain/approvals/approval.ts';
import type { JsonObject, JsonValue } from '../core/domain/json/json.ts';

/** What a test decides about something that waits. */
export type TestDecision =
  | { readonly type: 'approve'; readonly arguments?: JsonObject; readonly remember?: Remember; readonly by?: string }
  | { readonly type: 'reject'; readonly reason?: string; readonly remember?: Remember; readonly by?: string }
  | { readonly type: 'respond'; readonly content: JsonValue; readonly by?: string };

/** Something that waits for a decision: a call, a question, a limit, or the outcome of a call that was lost. */
export interface Waiting extends ApprovalView {
  /** Why the run has refused what was decided about it before. */
  refused?: { code: string; message: string };
}

/**
 * Called once for everything that waits, in its order, when nothing else of the run goes on. Undefined lets it wait: for
 * its deadline, or for what is said meanwhile.
 */
export type Decide = (waiting: Waiting) => TestDecision | undefined | Promise<TestDecision | undefined>;

/** Lets a call run, or raises a limit; with `arguments` instead of those that wait. */
export function approve(more: { arguments?: JsonObject; remember?: Remember; by?: string } = {}): TestDecision {
  return { type: 'approve', ...more };
}

/** Rejects a call: the model reads why. */
export function reject(reason?: string, more: { remember?: Remember; by?: string } = {}): TestDecision {
  return { type: 'reject', ...(reason === undefined ? {} : { reason }), ...more };
}

/** Answers a call in the tool's stead. */
export function respond(content: JsonValue, more: { by?: string } = {}): TestDecision {
  return { type: 'respond', content, ...more };
}
