import { isToolCall } from '../domain/content.ts';
import type { RecordedResponse } from '../domain/recorded-response.ts';
import { answer } from './answer.ts';
import { compactWindow, isWindowFull, shorten } from './compact.ts';
import { cancelled, failed, reachedLimit } from './endings.ts';
import { takeMessages } from './messages.ts';
import type { NextStep, Position } from './next-step.ts';
import { waitWhilePaused } from './pause.ts';
import type { ModelCall, RunPorts } from './ports.ts';
import { recordEvent, recordStep, recordUsage, type RunState } from './run-state.ts';
import { thoughtOf } from './thought.ts';
import { continueBeforeModelCall } from './continuing.ts';

type CallPosition = Extract<Position, { type: 'call_model' }>;

/** The thinking phase: checks the limits before paying, calls the model, records one event, and one step where no tools follow. */
export async function callModel(state: RunState, ports: RunPorts, position: CallPosition): Promise<NextStep> {
  // Waiting is the exception: in the sandbox every promise costs a stack trace.
  const before = (ports.paused() ? await waitWhilePaused(state, ports, position) : undefined) ?? checkBeforeCall(state, ports, position);
  if (before !== undefined) return before;
  const ended = isWindowFull(state, ports) ? await compactWindow(state, ports) : undefined;
  const instead = ended === undefined ? continueBeforeModelCall(state, ports, position) : unlessFinal(state, position, ended);
  if (instead !== undefined) return instead;

  const { final } = position;
  const outcome = await ports.callModel(modelCall(state, final));
  switch (outcome.type) {
    case 'cancelled':
      if (outcome.partial) recordInterrupted(state, ports, outcome.partial);
      return cancelled(state);
    case 'failed':
      if (outcome.code === 'context_length_exceeded' && !position.shortened) {
        const shortened = await shorten(state, ports);
        if (shortened === 'shortened') return { ...position, shortened: true };
        if (shortened !== undefined) return unlessFinal(state, position, shortened);
      }
      return unlessFinal(state, position, failed(state, outcome.code, outcome.message));
    case 'response':
      return recordResponse(state, ports, outcome.response, final);
  }
}

/** The limit has ended the run already: a final attempt that fails takes nothing away from what there is. */
function unlessFinal(state: RunState, { final }: CallPosition, next: NextStep): NextStep {
  return final && next.type === 'finish' && next.ending.status === 'error' ? reachedLimit(state) : next;
}

/** Messages are taken in and the limits are checked, before anything is paid for. */
function checkBeforeCall(state: RunState, ports: RunPorts, position: CallPosition): NextStep | undefined {
  takeMessages(state, ports);
  if (ports.cancelRequested()) return cancelled(state);
  const { maxIterations, finalAttempt } = state.snapshot.limits;
  if (!position.final && state.context.currentStep >= maxIterations) {
    return finalAttempt ? { type: 'call_model', final: true } : reachedLimit(state);
  }
  return undefined;
}

function modelCall(state: RunState, final: boolean): ModelCall {
  const { context, window, firstOffset, seenEvents, resultIds } = state;
  const earlierIds = context.events.slice(Math.max(0, seenEvents - firstOffset), -1).map(({ id }) => id);
  return {
    step: context.currentStep + 1,
    through: window.through,
    lastEventId: window.lastEventId,
    ...(resultIds === undefined ? {} : { resultIds }),
    ...(earlierIds.length === 0 ? {} : { earlierIds }),
    newEvents: window.events.filter(({ offset }) => offset >= seenEvents).length,
    final,
  };
}

function recordResponse(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  const { id, content, usage, providerItems, finishReason } = response;
  recordUsage(state, usage);
  const author = state.snapshot.name;
  recordEvent(state, ports, { id, author, content, usage, ...(providerItems === undefined ? {} : { providerItems }) });
  state.seenEvents = state.window.through;
  if (usage !== null) state.measured = { tokens: usage.promptTokens + usage.completionTokens, bytes: state.window.bytes };
  if (response.content.some(isToolCall)) return { type: 'run_tools', response, final, outcomes: [] };

  recordStep(state, { thought: thoughtOf(content), toolCalls: [], usage, finishReason, ...(final ? { final: true } : {}) });
  return answer(state, ports, response, final);
}

/** Keeps what had arrived of a response that was aborted. It counts as usage, not as a step. */
function recordInterrupted(state: RunState, ports: RunPorts, partial: RecordedResponse): void {
  recordUsage(state, partial.usage);
  const { id, content, usage } = partial;
  recordEvent(state, ports, { id, author: state.snapshot.name, content, usage, interrupted: true });
}
