import { Finalizer, MultipleFinalAnswers } from '../../../../src/core/domain/code.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, object, only } from '../fields.ts';

/** The actions on a finalizer, with the result of each of them. */
export const finalizerRun: Operation = {
  input: ['do'],
  expect: ['results'],
  perform: (input) => {
    const finalizer = new Finalizer();
    return { results: list(input['do']).map((action) => act(finalizer, object(action))) };
  },
};

function act(finalizer: Finalizer, action: JsonObject): JsonValue {
  const { set, get, is_set, reset } = only('An action', action, ['set', 'get', 'is_set', 'reset']);
  if (set !== undefined) return setAnswer(finalizer, only('An answer', set, ['value', 'source', 'metadata']));
  if (get === true) return toTheirAnswer(finalizer);
  if (is_set === true) return finalizer.isSet();
  if (reset !== true) throw new CaseProblem(`The case has an action that the adapter does not know: ${JSON.stringify(action)}`);
  finalizer.reset();
  return null;
}

function setAnswer(finalizer: Finalizer, { value = null, source, metadata }: JsonObject): JsonValue {
  try {
    finalizer.set(value, {
      now: 0,
      ...(source === 'normal' || source === 'final_attempt' ? { source } : refuse(source)),
      ...(metadata === undefined || metadata === null ? {} : { metadata: object(metadata) }),
    });
    return null;
  } catch (error) {
    if (!(error instanceof MultipleFinalAnswers)) throw error;
    return { error: error.message, first: error.first, attempted: error.attempted };
  }
}

/** A case may leave out the source, and has no other ones. */
function refuse(source: JsonValue | undefined): object {
  if (source === undefined || source === null) return {};
  throw new CaseProblem(`The case has a source that the adapter does not know: ${JSON.stringify(source)}`);
}

function toTheirAnswer(finalizer: Finalizer): JsonValue {
  const answer = finalizer.get();
  return answer === undefined ? null : { value: answer.value, source: answer.source, metadata: answer.metadata };
}
