import { isJsonObject } from '../../src/domain/json.ts';

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
export function readErrorBody(body: unknown): ErrorBody {
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

function text(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
