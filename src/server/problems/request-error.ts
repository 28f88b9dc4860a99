import { type ErrorCode, LonghaulError } from '../../core/domain/errors.ts';

/** One part of a request that does not have the shape that its route takes. */
export interface RequestProblem {
  /** The part of the body, as a JSON pointer in a URI fragment: `#/limits/steps`. */
  pointer?: string;
  /** The parameter of the path, the query or the header, if the problem is not in the body. */
  parameter?: string;
  detail: string;
}

/** The parts of a response that only some refusals have. */
export interface RefusalParts {
  errors?: readonly RequestProblem[];
  /** The seconds after which the caller may try again. Default: those of the code. */
  retryAfterSeconds?: number;
  /** Further headers of the response, such as `Allow`. */
  headers?: Readonly<Record<string, string>>;
}

/** A request that the HTTP service refuses. Every protocol of the service throws it, and reports it in its own form. */
export class RequestError extends LonghaulError {
  override readonly name = 'RequestError';
  readonly parts: RefusalParts;

  constructor(code: ErrorCode, message: string, { cause, ...parts }: RefusalParts & ErrorOptions = {}) {
    super(code, message, cause === undefined ? {} : { cause });
    this.parts = parts;
  }
}
