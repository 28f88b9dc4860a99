import type { ApprovalView, Remember } from '../core/domain/approvals.ts';
import type { JsonObject, JsonValue } from '../core/domain/json.ts';

/** The decision of a test about a pending call, question or limit. */
export type TestDecision =
  | { readonly type: 'approve'; readonly arguments?: JsonObject; readonly remember?: Remember; readonly by?: string }
  | { readonly type: 'reject'; readonly reason?: string; readonly remember?: Remember; readonly by?: string }
  | { readonly type: 'respond'; readonly content: JsonValue; readonly by?: string };

/** One pending decision: about a call, a question, a limit, or the outcome of a call that was lost. */
export interface Waiting extends ApprovalView {
  /** The reason why the run refused the test's decision before. */
  refused?: { code: string; message: string };
}

/**
 * Called once for each pending decision, in order, when the run cannot continue without one. If it returns undefined,
 * the decision stays pending until its deadline or an event of `meanwhile`.
 */
export type Decide = (waiting: Waiting) => TestDecision | undefined | Promise<TestDecision | undefined>;

/** Approves a call or raised limits; `arguments` replace those of the pending call. */
export function approve(more: { arguments?: JsonObject; remember?: Remember; by?: string } = {}): TestDecision {
  return { type: 'approve', ...more };
}

/** Rejects a call. The model reads the reason. */
export function reject(reason?: string, more: { remember?: Remember; by?: string } = {}): TestDecision {
  return { type: 'reject', ...(reason === undefined ? {} : { reason }), ...more };
}

/** Answers a call in place of the tool. */
export function respond(content: JsonValue, more: { by?: string } = {}): TestDecision {
  return { type: 'respond', content, ...more };
}
