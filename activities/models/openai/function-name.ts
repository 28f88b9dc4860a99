/**
 * The name of a call as a provider takes it back. Models invent names ("search web"), the call is answered with an
 * error, and the name stands in the conversation: sent as it came, it would make the provider refuse every later request.
 */
export function functionName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}
