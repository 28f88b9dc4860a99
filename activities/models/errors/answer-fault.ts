import { isJsonObject } from '../../../src/core/domain/json/json.ts';

/** The kinds of fault in an answer with HTTP status 200. */
export type AnswerFaultKind =
  /** The connection ended before the answer was complete. */
  | 'cut'
  /** Nothing arrived within the idle timeout. */
  | 'silent'
  /** The answer does not follow the API. */
  | 'malformed';

/** The error for a fault that the client finds in an answer. */
export class AnswerFault extends Error {
  readonly kind: AnswerFaultKind;
  /** What arrived in place of an answer, such as a page of a gateway. */
  readonly text: string;

  constructor(kind: AnswerFaultKind, message: string, text = '') {
    super(message);
    this.kind = kind;
    this.text = text;
  }
}

/** The error for one that the provider reports inside an answer of status 200. */
export class ReportedFault extends Error {
  /** The error as the provider sent it: an object, or text. */
  readonly body: unknown;

  constructor(body: unknown) {
    super('the provider reported an error');
    this.body = body;
  }
}

/**
 * True for an error instead of an answer: below `error`, with `object: 'error'` as vLLM sends it, in a list (Gemini), in a choice
 * (OpenRouter), by a number of MiniMax, or as a body that has a code of HTTP and nothing of an answer.
 */
export function isReportedError(data: unknown): boolean {
  if (Array.isArray(data)) return isReportedError(data[0]);
  if (!isJsonObject(data)) return false;
  const { error, object, choices, base_resp: minimax } = data;
  if (isJsonObject(error) || (typeof error === 'string' && error !== '') || object === 'error') return true;
  if (isJsonObject(minimax) && typeof minimax['status_code'] === 'number' && minimax['status_code'] !== 0) return true;
  if (Array.isArray(choices)) return choices.some((choice) => isJsonObject(choice) && isJsonObject(choice['error']));
  return choices === undefined && data['output'] === undefined && isFailureBody(data);
}

function isFailureBody({ code, success, message, msg, type }: Record<string, unknown>): boolean {
  if (typeof type === 'string' && type.startsWith('response.')) return false;
  const says = typeof message === 'string' || typeof msg === 'string';
  return says && (success === false || (typeof code === 'number' && code >= 400 && code <= 599));
}
