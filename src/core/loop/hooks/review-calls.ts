// Tool phase: the hooks before calls that run in an activity of their own.

import { isToolCall } from '../../domain/content/content.ts';
import type { ReviewedCalls } from '../../domain/hooks/hook-messages.ts';
import { hooksBeforeCalls } from '../../domain/hooks/hooks-before-calls.ts';
import type { RecordedResponse } from '../../domain/model/recorded-response.ts';
import type { ToolsPosition } from '../next-step.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { asRewritten } from './rewritten-arguments.ts';

/** True if such hooks are to be called before the calls of a response start. */
export function hasHooksBefore({ snapshot }: RunState, ports: RunPorts, { response, final }: ToolsPosition): boolean {
  if (final || response.reviewed || snapshot.hooks === undefined || ports.cancelRequested()) return false;
  return hooksBeforeCalls(snapshot).length > 0 && response.content.some(isToolCall);
}

/** Returns the position with the answers of these hooks in its response, so that they are not called again. */
export async function beforeCalls(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<ToolsPosition> {
  const { response } = position;
  const { problems, approvals } = response;
  const content = response.content.map((item) => (isToolCall(item) ? asRewritten(response, item) : item));
  // Meanwhile the activity queries the calls.
  state.hookedCalls = { content, ...(problems === undefined ? {} : { problems }), ...(approvals === undefined ? {} : { approvals }) };
  const review = await ports.reviewCalls(response);
  delete state.hookedCalls;
  return { ...position, response: { ...reviewed(response, review), reviewed: true } };
}

function reviewed(
  response: RecordedResponse,
  { problems, approvals, rewrites, injections, hooks, guardrails }: ReviewedCalls,
): RecordedResponse {
  const texts = new Map(Object.entries(response.injections ?? {}));
  for (const [id, text] of Object.entries(injections ?? {})) texts.set(id, texts.has(id) ? `${texts.get(id)}\n${text}` : text);
  const args = new Map([...Object.entries(response.rewrites ?? {}), ...Object.entries(rewrites ?? {})]);
  const { approvals: _, ...rest } = response;
  return {
    ...rest,
    ...(problems === undefined ? {} : { problems }),
    ...(approvals === undefined ? {} : { approvals }),
    ...(args.size === 0 ? {} : { rewrites: Object.fromEntries(args) }),
    ...(texts.size === 0 ? {} : { injections: Object.fromEntries(texts) }),
    ...(guardrails === undefined ? {} : { guardrails: { findings: [...(response.guardrails?.findings ?? []), ...guardrails.findings] } }),
    ...(hooks === undefined ? {} : { hooks: [...(response.hooks ?? []), ...hooks] }),
  };
}
