import { ApplicationFailure } from '@temporalio/common';
import { isToolCall } from '../domain/content/content.ts';
import { requestOf, sharedDeps } from '../loop/children/call-of-agent.ts';
import { asRewritten } from '../loop/hooks/rewritten-arguments.ts';
import { findEvent } from '../loop/state/run-state.ts';
import type { ChildInputAnswer, ChildInputQuestion } from '../protocol.ts';
import type { QueriedRun } from './queried-run.ts';

/** Answers the `childInput` query: with the input and the deps of the agent that a call has started, while it runs. */
export function childInput({ runId, state }: QueriedRun, ask: Partial<ChildInputQuestion> | null | undefined): ChildInputAnswer {
  const { eventId = '', index = -1 } = ask ?? {};
  const item = state === undefined ? undefined : findEvent(state, eventId)?.content[index];
  const call = item !== undefined && isToolCall(item) ? item : undefined;
  const agent = state?.snapshot.tools.find(({ name }) => name === call?.name)?.agent;
  if (state === undefined || call === undefined || agent === undefined) {
    throw ApplicationFailure.create({
      type: 'unknown_call',
      message: `Run "${runId}" has no call ${index} of event "${eventId}" that runs an agent`,
    });
  }
  const edited = state.approvals.approved.find(({ callId }) => callId === call.toolCallId)?.arguments;
  const input = requestOf(state, agent, edited ?? asRewritten(state, call).arguments);
  // Parts are in the input of the agent already.
  return { ...(typeof input === 'string' ? { input } : {}), deps: sharedDeps(agent, state.deps) };
}
