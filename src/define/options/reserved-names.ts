import { RAISE_LIMITS } from '../../core/domain/approvals.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../core/domain/tool-calls.ts';
import { ACTIVITIES } from '../../core/protocol.ts';

/**
 * Names that a tool must not have: the tools of structured answers and of code, a limit that waits for a person, Longhaul's own
 * activities, and the activity that gets every call of an unknown type.
 */
export const RESERVED_NAMES: readonly string[] = [FINAL_ANSWER, RUN_CODE, RAISE_LIMITS, 'default', ...Object.values(ACTIVITIES)];
