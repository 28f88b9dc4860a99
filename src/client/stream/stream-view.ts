import type { JsonValue } from '../../core/domain/json.ts';
import type { Event } from '../../core/domain/record.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import type { StreamedResult, StreamItem } from './stream-item.ts';

/** The output of a call as far as it has arrived. An event of the record replaces it. */
export interface LiveOutput {
  eventId: string;
  step: number;
  attempt: number;
  /** The call of a tool, or of a step of a program. Absent for the model call of an agent. */
  callId?: string;
  text: string;
  reasoning: string;
  /** The arguments of tool calls as JSON text, in the order in which they began. */
  toolInputs: { callId: string; toolName: string; text: string }[];
  /** The data that a tool has emitted. */
  data: { name: string; data: JsonValue }[];
  /** True if pieces are missing. */
  isIncomplete: boolean;
}

/** A run as its stream shows it so far. */
export interface StreamView {
  /** Offset of the first of `events`. Undefined before the first event. */
  firstOffset?: number;
  events: readonly Event[];
  steps: readonly StepResult[];
  /** The calls in flight. */
  live: readonly LiveOutput[];
  /** True if pieces are missing of a call that begins to show after a gap. */
  hasGap?: true;
  status?: RunStatus;
  /** Present once the run has ended. */
  result?: StreamedResult;
  /** The cursor of the newest item: a stream that begins with it goes on with this view. */
  cursor?: string;
}

/** Returns the view before the first item. */
export function newView(): StreamView {
  return { events: [], steps: [], live: [] };
}

/** Returns the view after one more item, and leaves the view before as it is. */
export function fold(view: StreamView, item: StreamItem): StreamView {
  const { hasGap: _, ...rest } = view;
  // The next event holds what is missing, and another attempt begins anew.
  const before = item.type === 'event' || item.type === 'reset' ? rest : view;
  return { ...viewWith(before, item), cursor: item.cursor };
}

function viewWith(view: StreamView, item: StreamItem): StreamView {
  switch (item.type) {
    case 'event': {
      const { firstOffset = item.offset } = view;
      const live = view.live.filter((one) => !isReplaced(one, item.event));
      return { ...view, firstOffset, events: [...view.events, item.event], live };
    }
    case 'step':
      return { ...view, steps: [...view.steps, item.step] };
    case 'delta':
      return { ...view, live: withDelta(view, item) };
    case 'reset':
      return item.offset === undefined
        ? { ...view, live: view.live.filter(({ callId }) => callId !== item.callId) }
        : sentBack(view, item.offset, item.step);
    case 'gap':
      return { ...view, hasGap: true, live: view.live.map((one) => ({ ...one, isIncomplete: true })) };
    case 'status':
      return { ...view, status: item.status };
    case 'end':
      return { ...view, live: [], status: item.result.status, result: item.result };
  }
}

/** True if the event holds the answer of the call, or the result of the tool. */
function isReplaced({ eventId, callId }: LiveOutput, { id, content }: Event): boolean {
  return id === eventId || content.some((item) => item.type === 'tool_result' && item.toolCallId === callId);
}

function sentBack({ result: _, firstOffset = 0, ...view }: StreamView, offset: number, step: number): StreamView {
  const events = view.events.slice(0, Math.max(0, offset - firstOffset));
  return {
    ...view,
    ...(offset > firstOffset ? { firstOffset } : {}),
    events,
    steps: view.steps.filter((one) => one.step < step),
    live: [],
  };
}

function withDelta({ live, hasGap }: StreamView, item: StreamItem & { type: 'delta' }): LiveOutput[] {
  const { eventId, step, attempt, callId } = item;
  const isSame = (one: LiveOutput): boolean => one.eventId === eventId && one.callId === callId && one.attempt === attempt;
  const known = live.find(isSame);
  const before: LiveOutput = known ?? {
    eventId,
    step,
    attempt,
    ...(callId === undefined ? {} : { callId }),
    text: '',
    reasoning: '',
    toolInputs: [],
    data: [],
    isIncomplete: hasGap ?? false,
  };
  const after = appended(before, item.delta);
  return known === undefined ? [...live, after] : live.map((one) => (one === known ? after : one));
}

function appended(output: LiveOutput, delta: (StreamItem & { type: 'delta' })['delta']): LiveOutput {
  switch (delta.type) {
    case 'text':
      return { ...output, text: output.text + delta.text };
    case 'reasoning':
      return { ...output, reasoning: output.reasoning + delta.text };
    case 'data':
      return { ...output, data: [...output.data, { name: delta.name, data: delta.data }] };
    case 'tool_input': {
      const { callId, toolName, text } = delta;
      const known = output.toolInputs.find((one) => one.callId === callId);
      const toolInputs =
        known === undefined
          ? [...output.toolInputs, { callId, toolName, text }]
          : output.toolInputs.map((one) => (one === known ? { ...one, text: one.text + text } : one));
      return { ...output, toolInputs };
    }
  }
}
