import { defined, isJsonObject, isTooDeep, type JsonObject } from '../../src/core/domain/json.ts';
import {
  type CodeCall,
  type CodeTool,
  EXECUTION_ERROR_KINDS,
  type ExecutionError,
  type ExecutionErrorKind,
} from '../../src/core/domain/execution.ts';
import { JAVASCRIPT_RESERVED_WORDS } from '../../src/core/code/callable-tools.ts';
import type { EngineModule } from './quickjs/thread/engine.ts';

/** Characters that a frame may have: more than the largest that either side writes. */
export const MAX_FRAME_LENGTH = 4_000_000;

/** Characters that code may have. */
export const MAX_CODE_LENGTH = 100_000;
/** Characters of output that may leave a thread: they fit into a frame even if JSON escapes each. */
export const MAX_OUTPUT_LENGTH = 500_000;
/** Characters of JSON that all injected values together may have. */
export const MAX_INJECTED_LENGTH = 1_000_000;
/** Characters of JSON that a final answer may have. */
export const MAX_ANSWER_LENGTH = 400_000;
/** Characters of JSON that the values of a namespace may have. Names beyond that are left out. */
export const MAX_NAMESPACE_LENGTH = 64_000;
/** Characters of JSON that a scratchpad may have. */
export const MAX_SCRATCHPAD_LENGTH = 64_000;
/** Characters of JSON that the arguments of a call may have. */
export const MAX_ARGUMENTS_LENGTH = 400_000;
/** Characters of JSON that the calls of a segment may have together. */
export const MAX_BATCH_LENGTH = 1_000_000;
/** Segments and calls that a cell may have. */
export const MAX_SEGMENTS = 1_000;
export const MAX_CALLS = 10_000;

/** The settings of a thread, with the limits and the functions of its code. */
export interface ThreadSettings {
  timeoutMs: number;
  memoryBytes: number;
  /** Characters of output that leave the thread. */
  outputLength: number;
  tools: readonly CodeTool[];
  scratchpad: boolean;
  /** Names of modules that code may import. */
  allowedImports: readonly string[];
}

/** The data that a thread is started with. */
export interface ThreadData {
  /** The JSON of the settings. */
  settings: string;
  engine: EngineModule;
  /** Incremented with each message to the thread. */
  wake: SharedArrayBuffer;
}

/** Names and the JSON of their values. */
type Injected = [string, string][];

/** Code to run. One at a time. */
export interface RunFrame {
  type: 'run';
  code: string;
  now: number;
  seed: number;
  injected: Injected;
  /** True if the code may call tools. */
  mayCall: boolean;
}

/** Sent to the thread. Call results and memory images are sent without a frame. */
export type ExecutorFrame = RunFrame | { type: 'checkpoint'; injected: Injected };

/** Sent by the thread at the end of a run, with the duration of its last segment. */
export type EndFrame = {
  durationMs: number;
  memoryUsedBytes: number;
  /** The JSON of the scratchpad. */
  scratchpad?: string | undefined;
} & (
  | {
      type: 'done';
      /** The JSON of the final answer. */
      answer?: string | undefined;
      namespace: Record<string, { type: string; json?: string }>;
    }
  | { type: 'failed'; kind: ExecutionErrorKind; message: string }
);

/** Sent by the thread when it has restored a memory. */
export interface RestoredFrame {
  type: 'restored';
  /** The reason if it could not. */
  problem?: string | undefined;
  /** The JSON of the scratchpad. */
  scratchpad?: string | undefined;
}

/** Sent by the thread: first that the code begins, then its output as it is printed, its calls, and finally how it ended. */
export type ThreadFrame =
  | { type: 'began' }
  | { type: 'output'; text: string }
  | { type: 'calls'; calls: CodeCall[]; durationMs: number }
  | RestoredFrame
  | EndFrame;

/** Returns the text of a frame. Throws if it is too long to be sent. */
export function frameText(frame: ExecutorFrame | ThreadSettings | ThreadFrame): string {
  const text = JSON.stringify(frame);
  if (text.length > MAX_FRAME_LENGTH) throw new RangeError(`a frame has ${text.length} characters, more than ${MAX_FRAME_LENGTH}`);
  return text;
}

/** Reads a frame of the thread; undefined for anything else. */
export function readThreadFrame(received: unknown): ThreadFrame | undefined {
  const frame = parsedFrame(received);
  switch (frame?.['type']) {
    case 'began':
      return { type: 'began' };
    case 'output':
      return typeof frame['text'] === 'string' ? { type: 'output', text: frame['text'] } : undefined;
    case 'calls':
      return readCalls(frame);
    case 'restored':
      return readRestored(frame);
    case 'done':
    case 'failed':
      return readEnd(frame);
    default:
      return undefined;
  }
}

function readRestored({ problem, scratchpad }: JsonObject): ThreadFrame | undefined {
  return isTextOrAbsent(problem) && isTextOrAbsent(scratchpad) ? { type: 'restored', problem, scratchpad } : undefined;
}

function readCalls({ calls, durationMs }: JsonObject): ThreadFrame | undefined {
  if (typeof durationMs !== 'number' || !Array.isArray(calls) || calls.length === 0 || calls.length > MAX_CALLS) return undefined;
  const read: CodeCall[] = [];
  for (const call of calls) {
    if (!isJsonObject(call)) return undefined;
    const { tool, arguments: given } = call;
    if (typeof tool !== 'string' || given === undefined || !isJsonObject(given) || isTooDeep(given)) return undefined;
    read.push({ tool, arguments: given });
  }
  return { type: 'calls', calls: read, durationMs };
}

function readEnd(frame: JsonObject): ThreadFrame | undefined {
  const { type, durationMs, memoryUsedBytes, scratchpad } = frame;
  if (typeof durationMs !== 'number' || typeof memoryUsedBytes !== 'number' || !isTextOrAbsent(scratchpad)) return undefined;
  const end = type === 'done' ? readDone(frame) : readFailed(frame);
  return end === undefined ? undefined : { ...end, durationMs, memoryUsedBytes, ...defined({ scratchpad }) };
}

type RestOfEnd<Frame> = Frame extends EndFrame ? Omit<Frame, 'durationMs' | 'memoryUsedBytes' | 'scratchpad'> : never;

function readDone({ answer, namespace }: JsonObject): RestOfEnd<Extract<EndFrame, { type: 'done' }>> | undefined {
  if (!isTextOrAbsent(answer) || namespace === undefined || !isJsonObject(namespace)) return undefined;
  const entries: [string, { type: string; json?: string }][] = [];
  for (const [name, entry] of Object.entries(namespace)) {
    if (!isJsonObject(entry) || typeof entry['type'] !== 'string') return undefined;
    const json = entry['json'];
    entries.push([name, { type: entry['type'], ...(typeof json === 'string' ? { json } : {}) }]);
  }
  return { type: 'done', answer, namespace: Object.fromEntries(entries) };
}

function readFailed({ kind: given, message }: JsonObject): RestOfEnd<Extract<EndFrame, { type: 'failed' }>> | undefined {
  const kind = EXECUTION_ERROR_KINDS.find((one) => one === given);
  return kind === undefined || typeof message !== 'string' ? undefined : { type: 'failed', kind, message };
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function parsedFrame(received: unknown): JsonObject | undefined {
  if (typeof received !== 'string' || received.length > MAX_FRAME_LENGTH) return undefined;
  try {
    const value: unknown = JSON.parse(received);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The error of a run that used up its time. */
export function timeoutError(timeoutSeconds: number): ExecutionError {
  return { kind: 'timeout', message: `Execution timed out after ${timeoutSeconds}s` };
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** True for a text that is a valid variable name in every language. */
export function isVariableName(name: string): boolean {
  return IDENTIFIER.test(name) && !JAVASCRIPT_RESERVED_WORDS.has(name);
}
