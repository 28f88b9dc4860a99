import { isToolCall } from '../domain/content.ts';
import { incrementStep } from '../domain/execution-context.ts';
import type { RecordedResponse } from '../domain/recorded-response.ts';
import { addUsage } from '../domain/usage.ts';
import { answer } from './answer.ts';
import { cancelled, failed, reachedLimit } from './endings.ts';
import type { NextStep } from './next-step.ts';
import type { ModelCall, RunPorts } from './ports.ts';
import { recordEvent, type RunState } from './run-state.ts';
import { thoughtOf } from './thought.ts';

/** The thinking phase: checks the limits before paying, calls the model, records one event, and one step where no tools follow. */
export async function callModel(state: RunState, ports: RunPorts, final: boolean): Promise<NextStep> {
  if (ports.cancelRequested()) return cancelled(state);
  const { maxIterations, finalAttempt } = state.snapshot.limits;
  if (!final && state.context.currentStep >= maxIterations) {
    return finalAttempt ? { type: 'call_model', final: true } : reachedLimit(state);
  }

  const outcome = await ports.callModel(modelCall(state, final));
  switch (outcome.type) {
    case 'cancelled':
      if (outcome.partial) recordInterrupted(state, ports, outcome.partial);
      return cancelled(state);
    case 'failed':
      // The limit has ended the run already: a final attempt that fails takes nothing away from what there is.
      return final ? reachedLimit(state) : failed(state, outcome.code, outcome.message);
    case 'response':
      return recordResponse(state, ports, outcome.response, final);
  }
}

function modelCall(state: RunState, final: boolean): ModelCall {
  const { events, currentStep } = state.context;
  return {
    step: currentStep + 1,
    through: events.length,
    lastEventId: events.at(-1)?.id ?? '',
    ...(state.resultIds === undefined ? {} : { resultIds: state.resultIds }),
    newEvents: events.length - state.seenEvents,
    final,
  };
}

function recordResponse(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  const { id, content, usage, providerItems } = response;
  state.usage = addUsage(state.usage, usage);
  const author = state.snapshot.name;
  recordEvent(state, ports, { id, author, content, usage, ...(providerItems === undefined ? {} : { providerItems }) });
  state.seenEvents = state.context.events.length;
  if (response.content.some(isToolCall)) return { type: 'run_tools', response, final };

  state.steps.push({
    step: state.context.currentStep + 1,
    thought: thoughtOf(response.content),
    toolCalls: [],
    usage: response.usage,
    finishReason: response.finishReason,
    ...(final ? { final: true } : {}),
  });
  incrementStep(state.context);
  return answer(state, ports, response, final);
}

/** Keeps what had arrived of a response that was aborted. It counts as usage, not as a step. */
function recordInterrupted(state: RunState, ports: RunPorts, partial: RecordedResponse): void {
  state.usage = addUsage(state.usage, partial.usage);
  const { id, content, usage } = partial;
  recordEvent(state, ports, { id, author: state.snapshot.name, content, usage, interrupted: true });
}
