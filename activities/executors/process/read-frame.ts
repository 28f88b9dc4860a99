import { isTooDeep } from '../../../src/core/domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/domain/json/json.ts';
import type { ExecutionErrorKind } from '../../../src/core/execution/execution-result.ts';
import {
  MAX_ANSWER_LENGTH,
  MAX_ARGUMENTS_LENGTH,
  MAX_FRAME_LENGTH,
  MAX_NAMESPACE_LENGTH,
  MAX_SCRATCHPAD_LENGTH,
  readThreadFrame,
  type ThreadFrame,
} from '../quickjs/frames.ts';
import { readScratchpad } from '../quickjs/results.ts';

/** Characters of the message of an error that are kept. */
const MAX_MESSAGE_LENGTH = 10_000;
/** Ends that are the worker's to say: a process that claims one of them lies. */
const OF_THE_WORKER: ReadonlySet<ExecutionErrorKind> = new Set(['killed', 'protocol']);

/** A frame of a process: those of threads without `restored`, which only threads send. */
export type ProcessFrame = Exclude<ThreadFrame, { type: 'restored' }>;

/**
 * Reads a line of a process; undefined for anything else than a frame with this token, within the limits that the process was told.
 * Code may have written the content.
 */
export function readFrame(line: string, token: string): ProcessFrame | undefined {
  if (line.length > MAX_FRAME_LENGTH || parsedObject(line)?.['token'] !== token) return undefined;
  const frame = readThreadFrame(line);
  switch (frame?.type) {
    case 'began':
    case 'output':
      return frame;
    case 'calls':
      return frame.calls.every(({ arguments: given }) => JSON.stringify(given).length <= MAX_ARGUMENTS_LENGTH) ? frame : undefined;
    case 'done':
      return isScratchpad(frame.scratchpad) && isJson(frame.answer, MAX_ANSWER_LENGTH) && isNamespace(frame.namespace)
        ? { ...frame, memoryUsedBytes: bytes(frame.memoryUsedBytes) }
        : undefined;
    case 'failed':
      return isScratchpad(frame.scratchpad) && !OF_THE_WORKER.has(frame.kind)
        ? { ...frame, message: frame.message.slice(0, MAX_MESSAGE_LENGTH), memoryUsedBytes: bytes(frame.memoryUsedBytes) }
        : undefined;
    default:
      return undefined;
  }
}

function isScratchpad(text: string | undefined): boolean {
  return text === undefined || (isJson(text, MAX_SCRATCHPAD_LENGTH) && readScratchpad(text) !== undefined);
}

function isNamespace(namespace: Record<string, { type: string; json?: string }>): boolean {
  let length = 0;
  for (const [name, { type, json }] of Object.entries(namespace)) {
    length += name.length + type.length + (json?.length ?? 0);
    // A process may count the characters of names and types in another way.
    if (length > 2 * MAX_NAMESPACE_LENGTH || !isJson(json, MAX_NAMESPACE_LENGTH)) return false;
  }
  return true;
}

function isJson(text: string | undefined, maxLength: number): boolean {
  if (text === undefined) return true;
  if (text.length > maxLength) return false;
  try {
    return !isTooDeep(JSON.parse(text));
  } catch {
    return false;
  }
}

function bytes(reported: number): number {
  return Number.isSafeInteger(reported) && reported >= 0 ? reported : 0;
}

function parsedObject(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
