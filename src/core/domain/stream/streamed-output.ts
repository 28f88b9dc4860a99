import { isJsonObject, type JsonValue } from '../json/json.ts';
import type { Delta } from './delta.ts';
import type { StreamedAttempt } from './stream-entry.ts';

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
export type OutputPart =
  | { from: number; type: 'text' | 'reasoning'; text: string; lengths: number[] }
  | { from: number; type: 'tool_input'; callId: string; toolName: string; text: string; lengths: number[] }
  | { from: number; type: 'data'; callId: string; name: string; data: JsonValue };

/** A delta with its index. */
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

/** Returns the deltas of an output. */
export function deltasOf({ parts }: StreamedOutput): IndexedDelta[] {
  return parts.flatMap((part): IndexedDelta[] => {
    if (part.type === 'data') return [{ index: part.from, delta: { type: 'data', callId: part.callId, name: part.name, data: part.data } }];
    let at = 0;
    return part.lengths.map((length, offset): IndexedDelta => {
      const text = part.text.slice(at, (at += length));
      const index = part.from + offset;
      if (part.type !== 'tool_input') return { index, delta: { type: part.type, text } };
      return { index, delta: { type: 'tool_input', callId: part.callId, toolName: part.toolName, text } };
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
