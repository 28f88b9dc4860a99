import { cellCode } from '../../src/core/domain/code/cell-code.ts';
import { isToolCall, type ToolCall } from '../../src/core/domain/content/content.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../src/core/domain/content/tool-text.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { CALL_EVENTS } from '../../src/core/domain/hooks/hook-event.ts';
import type { HookedCalls, ReviewedCalls } from '../../src/core/domain/hooks/hook-messages.ts';
import { hooksFor } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { approvalRequirements, type PredicateScope } from '../model-calls/approval-requirements.ts';
import { checkCalls } from '../guardrails/check-calls.ts';
import { reviewCall } from './review-call.ts';
import { Review } from './review.ts';

/**
 * Reviews the calls of one response of a model, or of one segment of code, before any of them starts: hooks first, those of one call
 * one after the other, the calls beside each other; rewritten arguments are checked like those of the model, and guardrails and
 * predicates of approval see the rewritten ones. Returns all problems and decisions, those before
 * included.
 */
export async function reviewCalls(scope: PredicateScope, { content, problems = {}, approvals }: HookedCalls): Promise<ReviewedCalls> {
  const review = new Review(problems);
  if (hooksFor(scope.snapshot, ...CALL_EVENTS).length > 0) {
    const calls = content.filter(isToolCall).filter((call) => !review.isRefused(call) && isTool(scope.snapshot, call.name));
    const verdicts = await Promise.all(calls.map((call) => reviewCall(scope, { ...call, arguments: shownArguments(content, call) })));
    for (const [index, call] of calls.entries()) review.add(call, verdicts[index]);
  }
  const rewritten = content.map((item) => (isToolCall(item) ? review.rewritten(item) : item));
  const checked = rewritten.filter(isToolCall).filter((call) => !review.isRefused(call) && isTool(scope.snapshot, call.name));
  const guardrails = await checkCalls(
    scope,
    checked.map((call) => ({ ...call, arguments: shownArguments(content, call) })),
  );
  for (const call of checked) review.block(call, guardrails);
  const asked = await approvalRequirements(scope, { content: rewritten, problems: Object.fromEntries(review.problems) });
  return {
    ...review.result(rewritten.filter(isToolCall), { asked, before: approvals }),
    ...(guardrails === undefined ? {} : { guardrails }),
  };
}

/** True for a name that runs something: the answer of a run is no call, and an unknown tool is refused in any case. */
function isTool({ tools, code }: AgentSnapshot, name: string): boolean {
  return name !== FINAL_ANSWER && ((name === RUN_CODE && code !== undefined) || tools.some((tool) => tool.name === name));
}

/** Returns the arguments as hooks see them. A cell may be in the text of the response. */
function shownArguments(content: RecordedResponse['content'], call: ToolCall): ToolCall['arguments'] {
  return call.name === RUN_CODE ? { ...call.arguments, code: cellCode(content, call) ?? '' } : call.arguments;
}
