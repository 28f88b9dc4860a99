import { isJsonObject, type JsonObject } from '../../../src/core/domain/json/json.ts';
import { EXECUTION_ERROR_KINDS, type ExecutionErrorKind } from '../../../src/core/execution/execution-result.ts';

/** Characters that a frame may have: more than the largest that either side writes. */
export const MAX_FRAME_LENGTH = 4_000_000;

/** Characters that code may have. */
export const MAX_CODE_LENGTH = 100_000;
/** Characters of output that may leave a thread: a frame has room for them, even if JSON escapes each. */
export const MAX_OUTPUT_LENGTH = 500_000;
/** Characters of JSON that all injected values together may have. */
export const MAX_INJECTED_LENGTH = 1_000_000;
/** Characters of JSON that a final answer may have. */
export const MAX_ANSWER_LENGTH = 400_000;
/** Characters of JSON that the values of a namespace may have. Names beyond it are left out. */
export const MAX_NAMESPACE_LENGTH = 64_000;

/** The limits of a thread, which it is started with. */
export interface ThreadLimits {
  timeoutMs: number;
  memoryBytes: number;
  /** Characters of output that leave the thread. */
  outputLength: number;
}

/** Sent to the thread: code to run. One at a time. */
export interface RunFrame {
  code: string;
  now: number;
  seed: number;
  /** Names and the JSON of their values. */
  injected: [string, string][];
}

/** Sent by the thread: first that the code begins, then what it prints, as it prints it, and at last how it ended. */
export type ThreadFrame =
  | { type: 'began' }
  | { type: 'output'; text: string }
  | {
      type: 'done';
      durationMs: number;
      memoryUsedBytes: number;
      /** The JSON of the final answer. */
      answer?: string | undefined;
      namespace: Record<string, { type: string; json?: string }>;
    }
  | {
      type: 'failed';
      durationMs: number;
      memoryUsedBytes: number;
      kind: ExecutionErrorKind;
      message: string;
    };

/** The text of a frame. Throws if it is too long to be sent. */
export function frameText(frame: RunFrame | ThreadLimits | ThreadFrame): string {
  const text = JSON.stringify(frame);
  if (text.length > MAX_FRAME_LENGTH) throw new RangeError(`a frame has ${text.length} characters, more than ${MAX_FRAME_LENGTH}`);
  return text;
}

/** Reads a frame of the thread; undefined for anything else than a frame. */
export function readThreadFrame(received: unknown): ThreadFrame | undefined {
  const frame = parsed(received);
  switch (frame?.['type']) {
    case 'began':
      return { type: 'began' };
    case 'output':
      return typeof frame['text'] === 'string' ? { type: 'output', text: frame['text'] } : undefined;
    case 'done':
      return readDone(frame);
    case 'failed':
      return readFailed(frame);
    default:
      return undefined;
  }
}

function readDone(frame: JsonObject): ThreadFrame | undefined {
  const { durationMs, memoryUsedBytes, answer, namespace } = frame;
  if (typeof durationMs !== 'number' || typeof memoryUsedBytes !== 'number' || !isJsonObject(namespace)) return undefined;
  if (answer !== undefined && typeof answer !== 'string') return undefined;
  const entries: [string, { type: string; json?: string }][] = [];
  for (const [name, entry] of Object.entries(namespace)) {
    if (!isJsonObject(entry) || typeof entry['type'] !== 'string') return undefined;
    const json = entry['json'];
    entries.push([name, { type: entry['type'], ...(typeof json === 'string' ? { json } : {}) }]);
  }
  return { type: 'done', durationMs, memoryUsedBytes, answer, namespace: Object.fromEntries(entries) };
}

function readFailed(frame: JsonObject): ThreadFrame | undefined {
  const { durationMs, memoryUsedBytes, message } = frame;
  const kind = EXECUTION_ERROR_KINDS.find((one) => one === frame['kind']);
  if (typeof durationMs !== 'number' || typeof memoryUsedBytes !== 'number') return undefined;
  if (kind === undefined || typeof message !== 'string') return undefined;
  return { type: 'failed', durationMs, memoryUsedBytes, kind, message };
}

function parsed(received: unknown): JsonObject | undefined {
  if (typeof received !== 'string' || received.length > MAX_FRAME_LENGTH) return undefined;
  try {
    const value: unknown = JSON.parse(received);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
