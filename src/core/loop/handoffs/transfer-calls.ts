// Tool phase: the calls of a response that hand the run over.

import { isToolCall, type ToolCall } from '../../domain/content.ts';
import { ONE_TRANSFER, RUN_ENDS } from '../../domain/handoffs.ts';
import type { RecordedResponse } from '../../domain/model.ts';
import type { RunState } from '../state/run-state.ts';

/** True for a call of the tool by which the agent hands the run over. */
export function isTransfer({ snapshot }: Pick<RunState, 'snapshot'>, { name }: ToolCall): boolean {
  return snapshot.handoffs !== undefined && snapshot.tools.some((tool) => tool.name === name && tool.handoff === true);
}

/** The facts about a response on which its transfers depend. */
export interface TransferContext {
  response: RecordedResponse;
  /** True if the response ends the run. */
  isLast: boolean;
}

/** Returns the text for the model about a transfer that is not carried out: it is not the first valid one of its response, or the response ends the run. */
export function withoutTransfer(state: RunState, { response, isLast }: TransferContext, call: ToolCall): string | undefined {
  if (isLast) return RUN_ENDS;
  const { content, problems = {} } = response;
  const first = content.filter(isToolCall).find((one) => isTransfer(state, one) && !Object.hasOwn(problems, one.toolCallId));
  return first?.toolCallId === call.toolCallId ? undefined : ONE_TRANSFER;
}

/** Returns the name of the agent that acts, for a step of a run that may have several. */
export function agentOfStep({ snapshot, handoffs }: Pick<RunState, 'snapshot' | 'handoffs'>): { agent?: string } {
  return snapshot.handoffs === undefined && handoffs === undefined ? {} : { agent: snapshot.name };
}

/** True if other agents than the one that the run is named after have acted, or may by the order of a flow. */
export function hasSeveralAgents({ handoffs }: Pick<RunState, 'handoffs'>): boolean {
  return handoffs !== undefined && (handoffs.count > 0 || handoffs.flow !== undefined);
}

/** Returns the name of the agent, or of the flow, that the run began with, by which it is found. */
export function firstAgent({ snapshot, handoffs }: Pick<RunState, 'snapshot' | 'handoffs'>): string {
  return handoffs?.first ?? snapshot.flow?.name ?? snapshot.name;
}
