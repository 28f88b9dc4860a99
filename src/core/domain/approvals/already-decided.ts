import { type DecidedCall, decider } from './approval.ts';

/** Returns the refusal of a decision about a call that was decided before, with the earlier decision, its author and its time. */
export function alreadyDecided(
  runId: string,
  { type, callId, toolName, id, at, ...who }: Omit<DecidedCall, 'digest'>,
): { code: 'already_decided'; message: string } {
  const what = { approve: 'approved', reject: 'rejected', respond: 'answered' }[type];
  const message = `Call "${callId}" of "${toolName}" in run "${runId}" was ${what} by ${quoted(decider(who))} at ${at} (decision "${id}")`;
  return { code: 'already_decided', message };
}

/** Puts a name in quotes, but not a description that stands for one. */
function quoted(name: string): string {
  return name.includes(' ') ? name : `"${name}"`;
}
