import { AGENT_RUN, PROGRAM_RUN } from '../../core/protocol.ts';
import { quoted } from './quoted.ts';

const RUN_TYPES: readonly string[] = [AGENT_RUN, PROGRAM_RUN];

/** The condition of a list that selects runs, and no other workflows. */
export const IS_RUN = `WorkflowType IN (${RUN_TYPES.map(quoted).join(', ')})`;

/** True for the workflow type of a run. */
export function isRunType(type: string): boolean {
  return RUN_TYPES.includes(type);
}
