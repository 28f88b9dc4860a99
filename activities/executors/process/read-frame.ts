import { isTooDeep } from '../../../src/core/domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/domain/json/json.ts';
import { MAX_FRAME_LENGTH, readThreadFrame, type ThreadFrame } from '../quickjs/frames.ts';
import { readScratchpad } from '../quickjs/results.ts';

/** Characters that a text of JSON inside a frame may have. */
const MAX_TEXT_LENGTH = 1_000_000;

/** A frame of a process: those of threads without `restored`, which only threads send. */
export type ProcessFrame = Exclude<ThreadFrame, { type: 'restored' }>;

/** Reads a line of a process; undefined for anything else than a frame with this token. Code may have written the line. */
export function readFrame(line: string, token: string): ProcessFrame | undefined {
  if (line.length > MAX_FRAME_LENGTH || parsedObject(line)?.['token'] !== token) return undefined;
  const frame = readThreadFrame(line);
  switch (frame?.type) {
    case 'began':
    case 'output':
    case 'calls':
      return frame;
    case 'done':
      return isScratchpad(frame.scratchpad) && isJson(frame.answer) && Object.values(frame.namespace).every(({ json }) => isJson(json))
        ? { ...frame, memoryUsedBytes: bytes(frame.memoryUsedBytes) }
        : undefined;
    case 'failed':
      return isScratchpad(frame.scratchpad) ? { ...frame, memoryUsedBytes: bytes(frame.memoryUsedBytes) } : undefined;
    default:
      return undefined;
  }
}

function isScratchpad(text: string | undefined): boolean {
  return text === undefined || (isJson(text) && readScratchpad(text) !== undefined);
}

function isJson(text: string | undefined): boolean {
  if (text === undefined) return true;
  if (text.length > MAX_TEXT_LENGTH) return false;
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
