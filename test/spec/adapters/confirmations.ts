import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { approve, reject, type TestDecision, type Waiting } from '../../../src/testing/index.ts';
import { CaseProblem, flag, list, object, only, text } from './fields.ts';

const KEYS = ['tool_call_id', 'approved', 'modified_arguments', 'reason'];

/** Translates the `confirmations` of a case into decisions of `testAgent`. */
export class Confirmations {
  readonly #confirmations: readonly JsonObject[];
  /** The steps that were suspended. */
  readonly steps = new Set<number>();

  constructor(confirmations: JsonValue | undefined) {
    this.#confirmations = list(confirmations).map((one) => only('A confirmation', one, KEYS));
  }

  /** Returns the case's decision on a call. A confirmation that the run has refused is not given again. */
  readonly decide = ({ callId, step, refused }: Waiting): TestDecision | undefined => {
    this.steps.add(step);
    const confirmation = this.#confirmations.find(({ tool_call_id: id }) => id === callId);
    return confirmation === undefined || refused !== undefined ? undefined : decision(confirmation);
  };
}

function decision({ approved, modified_arguments: modified, reason }: JsonObject): TestDecision {
  if (approved === undefined) throw new CaseProblem('A confirmation does not say "approved"');
  if (flag(approved)) return approve(modified === undefined || modified === null ? {} : { arguments: object(modified) });
  const why = text(reason);
  return why === '' ? reject() : reject(why);
}
