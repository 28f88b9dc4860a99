import { defined, type JsonValue } from '../../core/domain/json.ts';
import { endsModelCall, type Event } from '../../core/domain/record.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { Delta, ModelDelta } from '../../core/domain/stream.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import type { StreamedResult, StreamItem } from './stream-item.ts';

/** The output of a call that has arrived so far. A recorded event replaces it. */
export interface LiveOutput {
  /** The id of the event that will replace this output. */
  eventId: string;
  /** The step whose model call is running. */
  step: number;
  /** The attempt of that call, from 1. */
  attempt: number;
  /** The call of a tool, or of a step of a program. Absent for the model call of an agent. */
  callId?: string;
  /** The text of the answer so far. */
  text: string;
  /** The reasoning of the model so far, if it shows any. */
  reasoning: string;
  /** The arguments of tool calls as JSON text, in the order in which they began. */
  toolInputs: { callId: string; toolName: string; text: string; hosted?: true }[];
  /** The data that a tool has emitted. */
  data: { name: string; data: JsonValue }[];
  /** True if pieces are missing. */
  isIncomplete: boolean;
}

/** A run as its stream has shown it so far. */
export interface StreamView {
  /** Offset of the first of `events`. Undefined before the first event. */
  firstOffset?: number;
  /** The recorded events, in order. */
  events: readonly Event[];
  /** The completed steps. */
  steps: readonly StepResult[];
  /** The calls in flight. */
  live: readonly LiveOutput[];
  /** True if a call whose output first appears after a gap lacks pieces. */
  hasGap?: true;
  /** The last status in the stream. */
  status?: RunStatus;
  /** Present once the run has ended. */
  result?: StreamedResult;
  /** The cursor of the newest item: a stream that starts from it continues this view. */
  cursor?: string;
}

/** Returns the view before the first item. */
export function newView(): StreamView {
  return { events: [], steps: [], live: [] };
}

/** Returns the view after one more item, without changing the previous view. */
export function fold(view: StreamView, item: StreamItem): StreamView {
  const { hasGap: _, ...before } = view;
  return { ...withRecorded(before, item), ...inFlightAfter(view, item), cursor: item.cursor };
}

function withRecorded(view: StreamView, item: StreamItem): StreamView {
  switch (item.type) {
    case 'event':
      return { ...view, firstOffset: view.firstOffset ?? item.offset, events: [...view.events, item.event] };
    case 'step':
      return { ...view, steps: [...view.steps, item.step] };
    case 'reset':
      return item.offset === undefined ? view : sentBack(view, item.offset, item.step);
    case 'status':
      return { ...view, status: item.status };
    case 'end':
      return { ...view, status: item.result.status, result: item.result };
    case 'delta':
    case 'gap':
      return view;
  }
}

function sentBack({ result: _, firstOffset = 0, ...view }: StreamView, offset: number, step: number): StreamView {
  const events = view.events.slice(0, Math.max(0, offset - firstOffset));
  return { ...view, ...(offset > firstOffset ? { firstOffset } : {}), events, steps: view.steps.filter((one) => one.step < step) };
}

/** The output that no event holds yet. */
type InFlight = Pick<StreamView, 'live' | 'hasGap'>;

/** Returns the output in flight after one more item. */
function inFlightAfter({ live, hasGap }: InFlight, item: StreamItem): InFlight {
  const gap = defined({ hasGap });
  switch (item.type) {
    case 'delta':
      return { live: withDelta(live, item, hasGap ?? false), ...gap };
    // The event holds what is missing, and another attempt starts over.
    case 'event':
      return { live: live.filter((one) => !isReplaced(one, item.event)) };
    case 'reset':
      return { live: item.offset === undefined ? live.filter(({ callId }) => callId !== item.callId) : [] };
    case 'gap':
      return { live: incomplete(live), hasGap: true };
    case 'end':
      return { live: [], ...gap };
    case 'step':
    case 'status':
      return { live, ...gap };
  }
}

function incomplete(live: readonly LiveOutput[]): LiveOutput[] {
  return live.map((one) => ({ ...one, isIncomplete: true }));
}

/** True if the event holds the call's answer or result, also of another attempt. */
function isReplaced({ eventId, callId }: LiveOutput, event: Event): boolean {
  const { id, content, step } = event;
  // An agent makes one model call at a time.
  if (callId === undefined && step === undefined && endsModelCall(event)) return true;
  return id === eventId || content.some((item) => item.type === 'tool_result' && item.toolCallId === callId);
}

/** Adds a piece to its output. Another attempt replaces the previous one. */
function withDelta(live: readonly LiveOutput[], item: Piece, isIncomplete: boolean): LiveOutput[] {
  const known = live.find((one) => isPieceOf(item, one));
  if (known !== undefined) return live.map((one) => (one === known ? appended(one, item.delta) : one));
  return [...live.filter(({ callId }) => callId !== item.callId), appended(newOutput(item, isIncomplete), item.delta)];
}

type Piece = StreamItem & { type: 'delta' };

function isPieceOf({ eventId, callId, attempt }: Piece, output: LiveOutput): boolean {
  return output.eventId === eventId && output.callId === callId && output.attempt === attempt;
}

function newOutput({ eventId, step, attempt, callId }: Piece, isIncomplete: boolean): LiveOutput {
  const of = { eventId, step, attempt, ...defined({ callId }) };
  return { ...of, text: '', reasoning: '', toolInputs: [], data: [], isIncomplete };
}

function appended(output: LiveOutput, delta: Delta): LiveOutput {
  switch (delta.type) {
    case 'text':
      return { ...output, text: output.text + delta.text };
    case 'reasoning':
      return { ...output, reasoning: output.reasoning + delta.text };
    case 'data':
      return { ...output, data: [...output.data, { name: delta.name, data: delta.data }] };
    case 'tool_input': {
      const { callId, toolName, text, hosted } = delta;
      const known = output.toolInputs.find((one) => one.callId === callId);
      const toolInputs =
        known === undefined
          ? [...output.toolInputs, { callId, toolName, text, ...defined({ hosted }) }]
          : output.toolInputs.map((one) => (one === known ? { ...one, text: one.text + text } : one));
      return { ...output, toolInputs };
    }
  }
}

/** What a stream item says about the agent's answers. `answer`: the answer in flight, as shown before. */
export type AnswerChange =
  | { type: 'text' | 'reasoning'; answer: LiveOutput; text: string }
  /** A call begins, with the first piece of its arguments, or continues with a further piece. */
  | { type: 'call_begins' | 'call_arguments'; answer: LiveOutput; callId: string; toolName: string; text: string }
  /** A tool has emitted data. */
  | { type: 'data'; callId: string; name: string; data: JsonValue }
  /** No event will hold this answer: another attempt begins, or has answered. */
  | { type: 'reset'; answer: LiveOutput | undefined }
  /** An event is recorded. `answer`: the answer that it holds. */
  | { type: 'settled'; offset: number; event: Event; answer: LiveOutput | undefined }
  | { type: 'step'; step: StepResult }
  /** The run was sent back to an earlier step. */
  | { type: 'sent_back' }
  | { type: 'end'; result: StreamedResult; answer: LiveOutput | undefined };

/**
 * Reduces the stream of an agent's run to what a protocol shows. Output of calls is left out except for data of tools, and
 * an answer shows nothing after a gap: its event holds the rest.
 */
export class AnswerReducer {
  #state: InFlight = { live: [] };

  /** Leaves out the rest of the answer in flight: its event holds it. */
  skipAnswer(): void {
    this.#state = { ...this.#state, live: incomplete(this.#state.live) };
  }

  /** Takes the next item. */
  *take(item: StreamItem): Generator<AnswerChange> {
    const { live, hasGap } = this.#state;
    const [answer] = live;
    if (item.type === 'delta') {
      const { delta, callId } = item;
      if (delta.type === 'data') return yield delta;
      if (callId !== undefined || (answer?.isIncomplete ?? hasGap)) return;
      // No event will hold a call of a hosted tool.
      if (delta.type === 'tool_input' && delta.hosted) return;
      const isSame = answer !== undefined && isPieceOf(item, answer);
      this.#state = inFlightAfter(this.#state, item);
      if (answer !== undefined && !isSame) yield { type: 'reset', answer };
      return yield changeOf(delta, isSame ? answer : newOutput(item, false));
    }
    if (item.type === 'reset' && item.callId !== undefined) return;
    this.#state = inFlightAfter(this.#state, item);
    switch (item.type) {
      case 'reset':
        yield { type: 'reset', answer };
        if (item.offset !== undefined) yield { type: 'sent_back' };
        return;
      case 'event': {
        const { offset, event } = item;
        const isHeld = answer?.eventId === event.id;
        if (answer !== undefined && !isHeld && this.#state.live.length === 0) yield { type: 'reset', answer };
        return yield { type: 'settled', offset, event, answer: isHeld ? answer : undefined };
      }
      case 'step':
        return yield { type: 'step', step: item.step };
      case 'end':
        return yield { type: 'end', result: item.result, answer };
      case 'gap':
      case 'status':
        return;
    }
  }
}

function changeOf(delta: ModelDelta, answer: LiveOutput): AnswerChange {
  if (delta.type !== 'tool_input') return { type: delta.type, answer, text: delta.text };
  const { callId, toolName, text } = delta;
  const isKnown = answer.toolInputs.some((call) => call.callId === callId);
  return { type: isKnown ? 'call_arguments' : 'call_begins', answer, callId, toolName, text };
}
