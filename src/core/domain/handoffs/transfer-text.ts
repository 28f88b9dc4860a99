import { counted } from '../content/text.ts';

/** Returns the result of a transfer that was carried out. */
export function transferred(name: string): string {
  return `The conversation was transferred to agent "${name}", which goes on with it.`;
}

/** The result of a transfer after the first one of a response. */
export const ONE_TRANSFER = 'Not transferred: only the first transfer of a response counts.';

/** The result of a transfer in a response that ends the run. */
export const RUN_ENDS = 'Not transferred: the run ends with this response.';

/** Returns the result of a transfer in a run that has used its handoffs. */
export function noHandoffsLeft(max: number): string {
  return `Not transferred: the run has used its ${counted(max, 'handoff')}. Go on yourself.`;
}

/** Returns the result of a transfer to an agent that cannot take over. */
export function cannotTakeOver(name: string, problem: string): string {
  return `Not transferred to agent "${name}": ${problem}`;
}
