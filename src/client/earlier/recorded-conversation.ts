import { LonghaulError } from '../../core/domain/errors.ts';
import type { RunState } from '../../core/loop/state/run-state.ts';
import { contextOfRun } from '../../core/saved/context-of-run.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import type { ReadBackRun } from '../../history/read-run.ts';

/** Returns the context of a run as a document. Throws `invalid_input` for a run without a conversation. */
export function savedContextOf(runId: string, recorded: ReadBackRun): SavedContext {
  const { snapshot, context, limits, ...state } = conversationState(runId, recorded);
  return contextOfRun({
    agent: snapshot,
    window: state.window,
    events: context.events,
    deps: state.deps,
    usage: state.usage,
    toolCallsTotal: state.toolCallsTotal,
    toolCallsNotRun: state.toolCallsNotRun,
    currentStep: context.currentStep,
    maxIterations: limits.steps,
    startedAt: recorded.startedAt,
  });
}

/** Returns the state of a run that has a conversation. Throws `invalid_input` for a program, and for a run whose agent was never resolved. */
export function conversationState(runId: string, { state }: ReadBackRun): RunState {
  if (state === undefined) {
    throw new LonghaulError('invalid_input', `Run "${runId}" has no conversation: no worker has resolved its agent so far`);
  }
  if (state.program === undefined) return state;
  throw new LonghaulError('invalid_input', `Run "${runId}" is the run of a program, which has no conversation: name the run of an agent`);
}
