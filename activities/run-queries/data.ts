import { type DataView, type DataInput, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { queryRun } from './access.ts';

/** Returns deps and state of a run, from the input of an activity or, if they are too large for it, by query. */
export async function dataFor(input: OfRun & DataInput): Promise<DataView> {
  if (input.dataByReference) return queryRun<DataView>(input, QUERIES.data, null);
  return { deps: input.deps ?? {}, state: input.state ?? {} };
}
