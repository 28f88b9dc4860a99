/** Returns the text of a call that a hook denied, for the model. */
export function deniedByHook(tool: string, reason: string | undefined): string {
  return `The call of '${tool}' was denied by a hook${reason === undefined || reason === '' ? '.' : `: ${reason}`}`;
}
