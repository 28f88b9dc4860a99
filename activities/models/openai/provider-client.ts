import OpenAI, { APIError } from 'openai';
import { shallowBody } from '../errors/error-body.ts';

/** What the library needs to reach a provider. */
export interface ProviderAccess {
  apiKey: string;
  baseURL: string;
  organization?: string | undefined;
  headers?: Record<string, string> | undefined;
}

/** The client library, which here makes requests and nothing more: retries are Temporal's, and errors keep their whole body. */
export class ProviderClient extends OpenAI {
  constructor({ apiKey, baseURL, organization, headers }: ProviderAccess) {
    super({
      apiKey,
      baseURL,
      maxRetries: 0,
      ...(organization === undefined ? {} : { organization }),
      ...(headers === undefined ? {} : { defaultHeaders: headers }),
    });
  }

  /** The library keeps only what is below `error`, which is nothing where a compatible server does not wrap its errors. */
  protected override makeStatusError(status: number, body: object | undefined, text: string | undefined, headers: Headers): APIError {
    // The library shows the body as JSON, which must not fail: without its status the error could not be told apart.
    return new APIError(status, shallowBody(body) ?? { message: text }, undefined, headers);
  }
}
