import { isJsonObject, type JsonValue } from './json.ts';
import type { RunStatus } from './run.ts';
import * as s from './shape.ts';

const TEXT_DELTA = s.object({ type: s.fixed('text'), text: s.TEXT });
const REASONING_DELTA = s.object({ type: s.fixed('reasoning'), text: s.TEXT });
/** A piece of the arguments of a tool call, as JSON text. `callId` is that of the provider: the run renames an id that it has already. */
const INPUT_DELTA = s.object({
  type: s.fixed('tool_input'),
  callId: s.TEXT,
  toolName: s.TEXT,
  text: s.TEXT,
  /** The provider makes the call by itself: no event will hold it. */
  hosted: s.optional(s.TRUE),
});
const DATA_DELTA = s.object({ type: s.fixed('data'), callId: s.TEXT, name: s.TEXT, data: s.ANY_JSON });

/** A piece of a model's answer as it arrives. It is provisional: the event of the response holds the whole answer, checked. @useDeclaredType */
export type ModelDelta = s.ValueOf<typeof TEXT_DELTA> | s.ValueOf<typeof REASONING_DELTA> | s.ValueOf<typeof INPUT_DELTA>;

/** A piece of live output. `data`: a tool has called `context.emit(name, data)`. @useDeclaredType */
export type Delta = ModelDelta | s.ValueOf<typeof DATA_DELTA>;
export const DELTA: s.Shape<Delta> = s.union(TEXT_DELTA, REASONING_DELTA, INPUT_DELTA, DATA_DELTA);

/** One attempt of a call whose output is streamed: of a model call, or of a tool. */
export interface StreamedAttempt {
  /** The Temporal run id of the execution that made the call. */
  executionId: string;
  /**
   * The id of the event that will hold the answer of this attempt of a model call. For a tool, the id of the event with the call; the
   * event with the result of `callId` replaces what it has emitted.
   */
  eventId: string;
  /** The id of the tool call, or the address of the step of a program. Absent for the model call of an agent, which makes one at a time. */
  callId?: string;
  /** The number of events that the run had recorded when the call was scheduled. Absent for a step of a program: others may run at the same time. */
  through?: number;
  /** The sequence number of the activity in its execution: it orders the attempts of a call that is scheduled again. */
  activity: number;
  /** The attempt of that activity, 1-based. */
  attempt: number;
}

/** True if an attempt was made before another one of the same execution. */
export function isEarlierAttempt(
  one: Pick<StreamedAttempt, 'activity' | 'attempt'>,
  other: Pick<StreamedAttempt, 'activity' | 'attempt'>,
): boolean {
  return one.activity < other.activity || (one.activity === other.activity && one.attempt < other.attempt);
}

/** A fact about a run that a worker publishes for its readers. None of it enters history, and any of it may get lost. */
export type StreamEntry =
  /** An attempt of a model call begins: it discards what earlier attempts of the call have streamed. */
  | { type: 'attempt'; of: StreamedAttempt }
  /** A piece of output. `index` counts the deltas of the attempt from 0: a reader that misses one knows. */
  | { type: 'delta'; of: StreamedAttempt; index: number; delta: Delta }
  /** The run has recorded something, or its status has changed: readers ask it for what is new. `events` and `steps` are totals. */
  | { type: 'recorded'; executionId: string; events: number; steps: number; status: RunStatus };

/**
 * Under this id, in the place of the id of a run, workers also publish that a run has begun to wait for a decision, or waits for other ones.
 * A reader of all runs then does not have to wait for the next question to the lists of the server. No run may have this id (`checkNewRunId`).
 */
export const WAITS_STREAM = 'longhaul-waits';

/**
 * The recent output of one attempt, as the heartbeats of its activity carry it. Texts of deltas that follow one another are one text with their
 * lengths, because each delta is only a few characters long.
 */
export interface StreamedOutput {
  of: StreamedAttempt;
  /** The number of deltas that the attempt has published. Those that are not in `parts` are too old. */
  next: number;
  parts: OutputPart[];
}

/** Deltas that follow one another, the first of which has the index `from`. `lengths` are those of their texts, in UTF-16 code units. */
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

/** Adds the output of an attempt to the details of a heartbeat of its activity. `output`: the argument of `PublishingActivity.heartbeat`. */
export function withStreamedOutput(output: unknown, details: unknown): unknown {
  if (output === undefined) return details;
  return { [OUTPUT]: output, ...(details === undefined || details === null ? {} : { details }) };
}

/** Returns the details of a heartbeat without the output of an attempt. */
export function withoutStreamedOutput(details: unknown): unknown {
  return isJsonObject(details) && Object.hasOwn(details, OUTPUT) ? details['details'] : details;
}

/** Reads the output of an attempt from the details of a heartbeat; undefined if there is none. Nothing in the details is trusted. */
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

/** Returns deltas in parts. They must be in the order of their indexes. */
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
