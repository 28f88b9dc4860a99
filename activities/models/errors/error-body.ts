import { isTooDeep } from '../../../src/core/domain/json/json-depth.ts';
import { isJsonObject, type JsonValue } from '../../../src/core/domain/json/json.ts';

/** The content of an error's body, in any of the known shapes. */
export interface ErrorBody {
  message: string;
  /** Its machine-readable words: code, type, the inner code of Azure. */
  words: string[];
  /** The HTTP status, if the body repeats it as its code. */
  status: number | undefined;
}

/**
 * Reads the shapes in use: `{error: {message, code, type}}` (OpenAI, llama.cpp), `{message, code, type}` (vLLM),
 * `{error: "text"}` (Ollama), `{detail}` (FastAPI), plain text (proxies).
 */
export function readErrorBody(raw: unknown): ErrorBody {
  const body = shallowBody(raw);
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

/** The levels that are kept of a body that is nested too deep: no API puts its message below them. */
const KEPT_DEPTH = 8;

/** Returns a body that can be shown as JSON: levels that would overflow the stack are left out. */
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
