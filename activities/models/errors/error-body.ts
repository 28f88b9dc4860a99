import { isTooDeep } from '../../../src/core/domain/json/json-depth.ts';
import { isJsonObject, type JsonValue } from '../../../src/core/domain/json/json.ts';

/** What the body of an error says, whichever server wrote it. */
export interface ErrorBody {
  message: string;
  /** The machine-readable words in it: code, type, the inner code of Azure. */
  words: string[];
  /** The HTTP status, where the body repeats it as its code. */
  status: number | undefined;
}

/**
 * Reads the shapes in use: `{error: {message, code, type}}` (OpenAI, llama.cpp), `{message, code, type}` (vLLM),
 * `{error: "text"}` (Ollama), `{detail}` (FastAPI), plain text (proxies).
 */
export function readErrorBody(given: unknown): ErrorBody {
  const body = shallowBody(given);
  const error = isJsonObject(body) && (isJsonObject(body['error']) || typeof body['error'] === 'string') ? body['error'] : body;
  if (typeof error === 'string') return { message: error, words: [], status: undefined };
  if (!isJsonObject(error)) return { message: '', words: [], status: undefined };
  const { code, type, innererror, message, detail } = error;
  const inner = isJsonObject(innererror) ? innererror['code'] : undefined;
  return {
    message: text(message) ?? text(detail) ?? JSON.stringify(error),
    words: [code, type, inner].filter((word) => typeof word === 'string'),
    status: typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined,
  };
}

/** Levels that are kept of a body that is nested too deep: no API puts what it has to say below. */
const KEPT_DEPTH = 8;

/** A body that can be shown as JSON: what is nested too deep in it would overflow the stack, and is left out. */
export function shallowBody(body: unknown): unknown {
  return isTooDeep(body) ? cutBelow(body as JsonValue, KEPT_DEPTH) : body;
}

function cutBelow(value: JsonValue, levels: number): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '…';
  if (Array.isArray(value)) return value.map((one) => cutBelow(one, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutBelow(one, levels - 1)]));
}

function text(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
