import type { ModelResponse } from '../core/domain/model.ts';

/** Returns the fields of a response, each of which a model client may have set wrongly. */
export function responseFields(response: unknown): Partial<Record<keyof ModelResponse, unknown>> {
  return typeof response === 'object' && response !== null ? response : {};
}
