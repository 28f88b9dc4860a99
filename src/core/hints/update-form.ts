import type { ApprovalView } from '../domain/approvals/approval.ts';
import { answerTemplate } from './decision-hints.ts';
import type { JsonObject } from '../domain/json/json.ts';

/** The longest id that a request may have. */
const ID_LENGTH = 64;

/** What to fill into the form "Send an Update" of the Temporal UI. */
export interface UpdateForm {
  /** The Updates that take the input. */
  names: string[];
  input: JsonObject;
}

/** The form that decides about what waits, as it can be sent; an answer is to be filled in. The id is the same each time, so that it is one decision however often it is sent. */
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
