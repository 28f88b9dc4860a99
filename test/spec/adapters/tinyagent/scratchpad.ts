import {
  EMPTY_SCRATCHPAD,
  type Scratchpad,
  scratchpadContext,
  withFailedApproach,
  withObservation,
  withStoredValue,
} from '../../../../src/core/domain/code.ts';
import type { JsonValue } from '../../../../src/core/domain/json.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, only, text } from '../fields.ts';

/** The text of a working memory after some actions. The values of the cases are written as in Python. */
export const scratchpadRun: Operation = {
  input: ['do'],
  expect: [],
  perform: (input) => scratchpadContext(list(input['do']).reduce(act, EMPTY_SCRATCHPAD), 'python'),
};

function act(scratchpad: Scratchpad, action: JsonValue): Scratchpad {
  const { store, observe, fail, clear } = only('An action', action, ['store', 'observe', 'fail', 'clear']);
  if (store !== undefined) {
    const { name, value = null } = Array.isArray(store) ? { name: store[0], value: store[1] } : only('A value', store, ['name', 'value']);
    return withStoredValue(scratchpad, text(name), value);
  }
  if (observe !== undefined) return withObservation(scratchpad, text(observe));
  if (fail !== undefined) return withFailedApproach(scratchpad, text(fail));
  if (clear === true) return EMPTY_SCRATCHPAD;
  throw new CaseProblem(`The case has an action that the adapter does not know: ${JSON.stringify(action)}`);
}
