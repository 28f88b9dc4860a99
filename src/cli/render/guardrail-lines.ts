import type { GuardrailFinding, GuardrailNote, GuardrailType } from '../../core/domain/guardrails.ts';
import { printableLine } from '../../core/domain/text.ts';
import type { Headline } from '../output.ts';

const SUBJECTS: Record<GuardrailType, string> = { input: 'the request', output: 'the answer', tool_call: 'the call' };

/** Returns the findings of checks in one line, with its style. Checks without findings have only used a model. */
export function guardrailText({ findings }: GuardrailNote): Headline {
  if (findings.length === 0) return { text: '(guardrails asked a model, and found nothing)', look: 'dim' };
  const blocks = findings.some(({ outcome }) => outcome === 'tripped' || outcome === 'failed');
  return { text: findings.map(findingText).join('; '), look: blocks ? 'red' : 'yellow' };
}

function findingText({ name, type, outcome, message, callId }: GuardrailFinding): string {
  const subject = callId === undefined ? SUBJECTS[type] : `${SUBJECTS[type]} ${printableLine(callId)}`;
  const acts = outcome === 'tripped' || outcome === 'failed' ? 'blocked' : 'let pass';
  return `guardrail "${name}" ${acts} ${subject}: ${printableLine(message)}`;
}
