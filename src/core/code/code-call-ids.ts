/** Returns the id of a call that code makes: that of the call of `run_code`, and its number, from 1. */
export function codeCallId(callId: string, number: number): string {
  return `${callId}.${number}`;
}

/** True for an id that a call of code may have. No call of the model may have such an id, or two calls could have the same. */
export function isCodeCallId(id: string): boolean {
  return /\.[0-9]+$/.test(id);
}
