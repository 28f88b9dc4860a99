import { type DataView, type DataInput, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from './run-access.ts';

/** Deps and state of a run, from the input of an activity or, where they are too large for it, from the run. */
export async function dataFor(input: OfRun & DataInput): Promise<DataView> {
  if (input.dataByReference) return queryRun<DataView>(input, QUERIES.data, null);
  return { deps: input.deps ?? {}, state: input.state ?? {} };
}
