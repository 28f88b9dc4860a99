import { type Decision, RAISE_LIMITS, type RefusedRequest } from '../../core/domain/approvals/approval.ts';
import type { LimitChanges, LimitRaise } from '../../core/domain/agent/limits.ts';
import { limitsText } from './limits-text.ts';
import { visibleJson } from './visible-json.ts';

/** What the types of decisions have done to a call. */
export const DECIDED = { approve: 'approved', reject: 'rejected', respond: 'answered' } as const satisfies Record<Decision['type'], string>;

const REMEMBERED = { tool: 'every further call of the tool', arguments: 'further calls with equal arguments' } as const;

/** What was decided. `subject` follows the verb: what was decided about, or by whom. */
export function decisionText({ type, arguments: edited, content, reason, remember, source }: Decision, subject: string): string {
  const given = type === 'respond' ? content : edited;
  return [
    `${DECIDED[type]} ${subject}`,
    ...(given === undefined ? [] : [` with ${visibleJson(given)}`]),
    ...(reason === undefined || reason === '' ? [] : [`: ${reason}`]),
    ...(remember === undefined ? [] : [`; holds for ${REMEMBERED[remember]}`]),
    ...(source === 'remembered' ? ['; as remembered'] : []),
  ].join('');
}

/** What was decided, as it is told where its author stands beside it. */
export function decidedText(decision: Decision): string {
  const { type, toolName, callId, arguments: limits, reason } = decision;
  if (toolName !== RAISE_LIMITS) return decisionText(decision, `${toolName} (call ${callId})`);
  if (type === 'approve') return `approved raised limits: ${limitsText(limits as LimitChanges)}`;
  return `rejected raised limits${reason === undefined ? '' : `: ${reason}`}`;
}

/** What was asked of a run, and why it was refused. */
export function refusedText({ request, callId, code, message }: RefusedRequest): string {
  return `${request}${callId === undefined ? '' : ` of call ${callId}`} was refused (${code}): ${message}`;
}

/** Which limits were raised. */
export function raisedText({ limits }: LimitRaise): string {
  return `raised limits: ${limitsText(limits)}`;
}
