import type { ApprovalView } from '../domain/approvals/approval.ts';
import { answerTemplate } from './decision-hints.ts';
import type { JsonObject } from '../domain/json/json.ts';

/** The longest id that a request may have. */
const ID_LENGTH = 64;

/** The values for the form "Send an Update" of the Temporal UI. */
export interface UpdateForm {
  /** The Updates that accept the input. */
  names: string[];
  input: JsonObject;
}

/**
 * Returns the form that decides a pending approval. It can be sent as it is, after an answer is filled in. Its id is fixed, so that
 * a form sent twice is one decision.
 */
export function updateForm({
  kind,
  callId,
  digest,
  key,
  answer,
}: Pick<ApprovalView, 'kind' | 'callId' | 'digest' | 'key' | 'answer'>): UpdateForm {
  const decision = { callId, id: `ui-${key}`.slice(-ID_LENGTH), digest };
  if (kind === 'tool' || kind === 'limit') return { names: ['approve', 'reject'], input: decision };
  return { names: ['respond'], input: { ...decision, content: answerTemplate(kind === 'question' ? answer : undefined) } };
}
