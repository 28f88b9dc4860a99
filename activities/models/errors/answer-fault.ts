import { isJsonObject } from '../../../src/core/domain/json/json.ts';

/** What can be wrong with an answer whose HTTP status promised a good one. */
export type AnswerFaultKind =
  /** The connection ended before the answer did. */
  | 'cut'
  /** Nothing arrived for as long as the client waits. */
  | 'silent'
  /** It is not what the API promises. */
  | 'malformed';

/** A fault that the client finds in an answer. */
export class AnswerFault extends Error {
  readonly kind: AnswerFaultKind;

  constructor(kind: AnswerFaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** An error that the provider reports inside an answer of status 200. */
export class ReportedFault extends Error {
  /** The error as the provider sent it: an object, or text. */
  readonly body: unknown;

  constructor(body: unknown) {
    super('the provider reported an error');
    this.body = body;
  }
}

/** True for an error in the place of an answer: below `error`, or marked as such the way that vLLM does it. */
export function isReportedError(data: Record<string, unknown>): boolean {
  const { error, object } = data;
  return isJsonObject(error) || (typeof error === 'string' && error !== '') || object === 'error';
}
