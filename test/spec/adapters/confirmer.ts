import type { PendingApproval } from '../../../src/core/domain/approvals/approval.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { approve, reject } from '../../../src/core/handlers/decision.ts';
import type { MessageReceiver } from '../../../src/core/handlers/message-receiver.ts';
import { list, object, text } from './fields.ts';

/** Gives a run the `confirmations` of a case, as decisions that come to it from outside. */
export class Confirmer {
  readonly #confirmations: readonly JsonObject[];
  /** The steps that were suspended. */
  readonly steps = new Set<number>();

  constructor(confirmations: JsonValue | undefined) {
    this.#confirmations = list(confirmations).map(object);
  }

  /** Decides all that waits and that the case confirms or denies; false where that is nothing. */
  confirm(run: Required<MessageReceiver>, givenIds: ReadonlyMap<string, string>): boolean {
    const { pending } = run.state.approvals;
    for (const { step } of pending) this.steps.add(step);
    const decided = pending.filter((waiting) => {
      const given = givenIds.get(waiting.callId) ?? waiting.callId;
      const confirmation = this.#confirmations.find(({ tool_call_id: id }) => id === given);
      return confirmation !== undefined && decide(run, waiting, confirmation);
    });
    return decided.length > 0;
  }
}

/** A decision that the run refuses decides nothing. */
function decide(run: MessageReceiver, { callId, digest }: PendingApproval, confirmation: JsonObject): boolean {
  const { approved, modified_arguments: modified, reason } = confirmation;
  const about = { id: `confirmation of ${callId}`, callId, digest };
  const arrival = { source: 'update' as const, now: Date.now() };
  if (approved === true) {
    const input = { ...about, ...(modified === undefined || modified === null ? {} : { arguments: object(modified) }) };
    if (approve.refusal(run, input) !== undefined) return false;
    approve.take(run, input, arrival);
  } else {
    const input = { ...about, ...(typeof reason === 'string' && reason !== '' ? { reason: text(reason) } : {}) };
    if (reject.refusal(run, input) !== undefined) return false;
    reject.take(run, input, arrival);
  }
  run.inbox.received += 1;
  return true;
}
