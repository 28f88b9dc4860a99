import { RequestError, type RefusalParts } from '../../../problems/request-error.ts';
import type { ErrorCode } from '../../../../core/domain/errors.ts';

/** The part of a refusal that only the OpenAI protocol has. */
export interface OpenaiParts {
  /** The code of the protocol instead of that of the error. */
  code?: string;
  /** The parameter that is refused. */
  param?: string;
  /** The status instead of that of the error. */
  status?: number;
}

/** A refusal in the words of the OpenAI protocol. */
export class OpenaiRefusal extends RequestError {
  readonly openai: OpenaiParts;

  constructor(code: ErrorCode, message: string, openai: OpenaiParts, parts: RefusalParts & ErrorOptions = {}) {
    super(code, message, parts);
    this.openai = openai;
  }
}

/** Refuses a parameter that the service does not support, or a value of it. */
export function unsupported(param: string, why: string): OpenaiRefusal {
  return new OpenaiRefusal('invalid_request', `"${param}" is not supported: ${why}`, { param, code: 'unsupported_parameter' });
}

/** Refuses a request without a parameter that it needs. */
export function missing(param: string): OpenaiRefusal {
  return new OpenaiRefusal('invalid_request', `"${param}" is missing`, { param, code: 'missing_required_parameter' });
}

/** Refuses a value that a parameter cannot have. */
export function invalidValue(param: string, why: string): OpenaiRefusal {
  return new OpenaiRefusal('invalid_request', `"${param}": ${why}`, { param, code: 'invalid_value' });
}

/** Refuses a model that the service does not have. `hint` names another one. */
export function modelNotFound(model: string, parts: RefusalParts = {}, hint = ''): OpenaiRefusal {
  const message = `The model "${model}" does not exist: "GET /v1/models" lists the agents of the service${hint}`;
  return new OpenaiRefusal('agent_not_found', message, { param: 'model', code: 'model_not_found' }, parts);
}

/** The header by which a client is told that it must not send the request again by itself. */
export const NO_RETRY = { 'x-should-retry': 'false' } as const;
