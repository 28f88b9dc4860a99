import { type PermissionChange, RULE_LISTS, ruleText } from '../../core/domain/permissions.ts';
import { type Decision, RAISE_LIMITS, type RefusedRequest } from '../../core/domain/approvals.ts';
import type { LimitChanges, LimitRaise } from '../../core/domain/limits.ts';
import { limitsText } from './limits-text.ts';
import { visibleJson } from './visible-json.ts';

/** The past tense of each type of decision. */
export const DECIDED = { approve: 'approved', reject: 'rejected', respond: 'answered' } as const satisfies Record<Decision['type'], string>;

const REMEMBERED = { tool: 'every further call of the tool', arguments: 'further calls with equal arguments' } as const;

/** Returns a decision as text. `subject` follows the verb: the call that was decided, or the approver. */
export function decisionText({ type, arguments: edited, content, reason, remember, source }: Decision, subject: string): string {
  const answerOrEdit = type === 'respond' ? content : edited;
  return [
    `${DECIDED[type]} ${subject}`,
    ...(answerOrEdit === undefined ? [] : [` with ${visibleJson(answerOrEdit)}`]),
    ...(reason === undefined || reason === '' ? [] : [`: ${reason}`]),
    ...(remember === undefined ? [] : [`; holds for ${REMEMBERED[remember]}`]),
    ...(source === 'remembered' ? ['; as remembered'] : []),
  ].join('');
}

/** Returns a decision as text, for output that already shows its author. */
export function decidedText(decision: Decision): string {
  const { type, toolName, callId, arguments: limits, reason } = decision;
  if (toolName !== RAISE_LIMITS) return decisionText(decision, `${toolName} (call ${callId})`);
  if (type === 'approve') return `approved raised limits: ${limitsText(limits as LimitChanges)}`;
  return `rejected raised limits${reason === undefined ? '' : `: ${reason}`}`;
}

/** Returns a refused request as text, with the reason. */
export function refusedText({ request, callId, code, message }: RefusedRequest): string {
  return `${request}${callId === undefined ? '' : ` of call ${callId}`} was refused (${code}): ${message}`;
}

/** Returns raised limits as text. */
export function raisedText({ limits }: LimitRaise): string {
  return `raised limits: ${limitsText(limits)}`;
}

/** Returns permissions that were set as text: the mode, and the rules by their lists. */
export function permissionsText({ permissions }: PermissionChange): string {
  const rules = RULE_LISTS.flatMap((list) => (permissions[list] ?? []).map((rule) => ruleText(list, rule)));
  return `set the permissions: ${[`mode ${permissions.mode}`, ...rules].join('; ')}`;
}
