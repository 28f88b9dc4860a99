/**
 * Returns the name of a call in a form that the provider accepts. Models invent names ("search web"): the call is
 * answered with an error, but its name stays in the conversation, and the provider would refuse every later request.
 */
export function functionName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}
