import type { Authenticate } from './caller.ts';

/**
 * Combines several ways to verify a request: the first that knows the caller decides. If none does and one of them has failed, the
 * error of that one is thrown, because it might have known the caller.
 */
export function anyOf(...authenticators: readonly Authenticate[]): Authenticate {
  return async (request) => {
    const failures: unknown[] = [];
    for (const authenticate of authenticators) {
      try {
        const caller = await authenticate(request);
        if (caller !== undefined) return caller;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return undefined;
  };
}
