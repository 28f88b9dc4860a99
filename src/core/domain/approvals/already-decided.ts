import { type DecidedCall, decider } from './approval.ts';

/** The refusal of a decision about a call that has been decided: how, by whom, and when. */
export function alreadyDecided(
  runId: string,
  { type, callId, toolName, id, at, ...who }: Omit<DecidedCall, 'digest'>,
): { code: 'already_decided'; message: string } {
  const what = { approve: 'approved', reject: 'rejected', respond: 'answered' }[type];
  const message = `Call "${callId}" of "${toolName}" in run "${runId}" was ${what} by ${quoted(decider(who))} at ${at} (decision "${id}")`;
  return { code: 'already_decided', message };
}

/** A name; words that stand for one are not in quotes. */
function quoted(name: string): string {
  return name.includes(' ') ? name : `"${name}"`;
}
