import OpenAI, { APIError } from 'openai';
import { shallowBody } from '../errors/error-body.ts';

/** Options of the library for a provider. */
export interface ProviderAccess {
  apiKey: string;
  baseURL: string;
  organization?: string | undefined;
  headers?: Record<string, string> | undefined;
}

/** The client library, used for requests alone: Temporal retries, and errors keep their whole body. */
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

  /** Keeps the whole body of an error. The library keeps only its `error` field, which compatible servers may not send. */
  protected override makeStatusError(status: number, body: object | undefined, text: string | undefined, headers: Headers): APIError {
    // The library converts the body to JSON. That must not fail: without its status the error could not be classified.
    return new APIError(status, shallowBody(body) ?? { message: text }, undefined, headers);
  }
}
