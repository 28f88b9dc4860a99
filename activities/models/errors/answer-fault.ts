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

  constructor(kind: AnswerFaultKind, message: string) {
    super(message);
    this.kind = kind;
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

/** True for an error instead of an answer: below `error`, or with `object: 'error'` as vLLM sends it. */
export function isReportedError(data: Record<string, unknown>): boolean {
  const { error, object } = data;
  return isJsonObject(error) || (typeof error === 'string' && error !== '') || object === 'error';
}
