import { isJsonObject, type JsonValue } from './json.ts';
import type { RunStatus } from './run.ts';
import * as s from './shape.ts';

const TEXT_DELTA = s.object({ type: s.fixed('text'), text: s.TEXT });
const REASONING_DELTA = s.object({ type: s.fixed('reasoning'), text: s.TEXT });
/** A piece of the arguments of a tool call, as JSON text. `callId` is the provider's: the run renames ids that it already has. */
const INPUT_DELTA = s.object({
  type: s.fixed('tool_input'),
  callId: s.TEXT,
  toolName: s.TEXT,
  text: s.TEXT,
  /** The provider runs the call itself: no event will contain it. */
  hosted: s.optional(s.TRUE),
});
const DATA_DELTA = s.object({ type: s.fixed('data'), callId: s.TEXT, name: s.TEXT, data: s.ANY_JSON });

/** A piece of a model's answer as it arrives. It is provisional: the response's event has the whole, checked answer. @useDeclaredType */
export type ModelDelta = s.ValueOf<typeof TEXT_DELTA> | s.ValueOf<typeof REASONING_DELTA> | s.ValueOf<typeof INPUT_DELTA>;

/** A piece of live output. `data`: a tool has called `context.emit(name, data)`. @useDeclaredType */
export type Delta = ModelDelta | s.ValueOf<typeof DATA_DELTA>;
export const DELTA: s.Shape<Delta> = s.union(TEXT_DELTA, REASONING_DELTA, INPUT_DELTA, DATA_DELTA);

/** One attempt of a call with streamed output, of a model or a tool. */
export interface StreamedAttempt {
  /** The Temporal run id of the execution that made the call. */
  executionId: string;
  /**
   * The id of the event that will contain the answer of this attempt of a model call. For a tool, the id of the event with the call; the
   * event with the result of `callId` replaces the emitted output.
   */
  eventId: string;
  /** The id of the tool call, or the address of a program's step. Absent for an agent's model call, since an agent makes one at a time. */
  callId?: string;
  /** The number of recorded events when the call was scheduled. Absent for a program's step: others may run at the same time. */
  through?: number;
  /** The sequence number of the activity in its execution: it orders the attempts of a rescheduled call. */
  activity: number;
  /** The attempt of that activity. 1-based. */
  attempt: number;
}

/** True if an attempt was made before another one of the same execution. */
export function isEarlierAttempt(
  one: Pick<StreamedAttempt, 'activity' | 'attempt'>,
  other: Pick<StreamedAttempt, 'activity' | 'attempt'>,
): boolean {
  return one.activity < other.activity || (one.activity === other.activity && one.attempt < other.attempt);
}

/** An update about a run that a worker publishes to its readers. It does not enter the history, and may get lost. */
export type StreamEntry =
  /** An attempt of a model call begins: the output of earlier attempts is discarded. */
  | { type: 'attempt'; of: StreamedAttempt }
  /** A piece of output. `index` counts the attempt's deltas from 0, so that a reader notices a missing one. */
  | { type: 'delta'; of: StreamedAttempt; index: number; delta: Delta }
  /** The run has recorded something, or its status has changed: readers query it for what is new. `events` and `steps` are totals. */
  | { type: 'recorded'; executionId: string; events: number; steps: number; status: RunStatus };

/**
 * Under this id, instead of a run id, workers also publish that a run has begun to wait for a decision, or for different ones. So a reader
 * of all runs need not wait for its next query of the server's lists. No run may have this id (`checkNewRunId`).
 */
export const WAITS_STREAM = 'longhaul-waits';

/**
 * The recent output of one attempt, as carried by its activity's heartbeats. Consecutive text deltas are joined into one text with their
 * lengths, because each is only a few characters long.
 */
export interface StreamedOutput {
  of: StreamedAttempt;
  /** The number of deltas that the attempt has published. Older ones may be missing in `parts`. */
  next: number;
  parts: OutputPart[];
}

/** Consecutive deltas, the first with the index `from`. `lengths` are the lengths of their texts, in UTF-16 code units. */
type OutputPart =
  | { from: number; type: 'text' | 'reasoning'; text: string; lengths: number[] }
  | { from: number; type: 'tool_input'; callId: string; toolName: string; hosted?: true; text: string; lengths: number[] }
  | { from: number; type: 'data'; callId: string; name: string; data: JsonValue };

export interface IndexedDelta {
  index: number;
  delta: Delta;
}

/** The key of the output in the details of a heartbeat. */
const OUTPUT = 'longhaul:stream';

/** Adds the output of an attempt to the details of its activity's heartbeat. `output`: the argument of `PublishingActivity.heartbeat`. */
export function withStreamedOutput(output: unknown, details: unknown): unknown {
  if (output === undefined) return details;
  return { [OUTPUT]: output, ...(details === undefined || details === null ? {} : { details }) };
}

/** Returns the details of a heartbeat without the output of an attempt. */
export function withoutStreamedOutput(details: unknown): unknown {
  return isJsonObject(details) && Object.hasOwn(details, OUTPUT) ? details['details'] : details;
}

/** Reads the output of an attempt from the details of a heartbeat, or returns undefined. Nothing in the details is trusted. */
export function streamedOutputIn(details: unknown): StreamedOutput | undefined {
  const output = isJsonObject(details) ? details[OUTPUT] : undefined;
  if (!isJsonObject(output) || !isAttempt(output['of']) || !isIndex(output['next']) || !Array.isArray(output['parts'])) return undefined;
  const parts: unknown[] = output['parts'];
  return parts.every(isPart) ? { of: output['of'], next: output['next'], parts } : undefined;
}

export function deltasOf({ parts }: StreamedOutput): IndexedDelta[] {
  return parts.flatMap((part): IndexedDelta[] => {
    if (part.type === 'data') return [{ index: part.from, delta: { type: 'data', callId: part.callId, name: part.name, data: part.data } }];
    let at = 0;
    return part.lengths.map((length, offset): IndexedDelta => {
      const text = part.text.slice(at, (at += length));
      const index = part.from + offset;
      if (part.type !== 'tool_input') return { index, delta: { type: part.type, text } };
      return {
        index,
        delta: { type: 'tool_input', callId: part.callId, toolName: part.toolName, text, ...(part.hosted ? { hosted: true } : {}) },
      };
    });
  });
}

/** Groups deltas into parts. They must be in index order. */
export function partsOf(deltas: readonly IndexedDelta[]): OutputPart[] {
  const parts: OutputPart[] = [];
  for (const { index, delta } of deltas) {
    const last = parts.at(-1);
    if (delta.type === 'data') parts.push({ from: index, ...delta });
    else if (last !== undefined && last.type !== 'data' && continues(last, index, delta)) {
      last.text += delta.text;
      last.lengths.push(delta.text.length);
    } else parts.push({ from: index, ...delta, lengths: [delta.text.length] });
  }
  return parts;
}

function continues(part: Exclude<OutputPart, { type: 'data' }>, index: number, delta: Exclude<Delta, { type: 'data' }>): boolean {
  if (part.type !== delta.type || part.from + part.lengths.length !== index) return false;
  return part.type !== 'tool_input' || (delta.type === 'tool_input' && part.callId === delta.callId && part.toolName === delta.toolName);
}

function isAttempt(value: JsonValue | undefined): value is JsonValue & StreamedAttempt {
  if (!isJsonObject(value ?? null)) return false;
  const { executionId, eventId, callId, through, activity, attempt } = value as Record<string, JsonValue>;
  const areTexts = [executionId, eventId, callId ?? ''].every((one) => typeof one === 'string');
  return areTexts && isIndex(through ?? 0) && isIndex(activity) && isIndex(attempt);
}

function isPart(value: unknown): value is OutputPart {
  if (!isJsonObject(value) || !isIndex(value['from'])) return false;
  const { type, callId, toolName, name, text, lengths } = value;
  if (type === 'data') return typeof callId === 'string' && typeof name === 'string' && 'data' in value;
  if (typeof text !== 'string' || !Array.isArray(lengths) || !lengths.every(isIndex)) return false;
  return type === 'text' || type === 'reasoning' || (type === 'tool_input' && typeof callId === 'string' && typeof toolName === 'string');
}

function isIndex(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
