import { type DataView, type DataInput, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { queryRun } from './access.ts';

/** Returns deps, state and principal of a run, from the input of an activity or, as far as they are not in it, by query. */
export async function dataFor({ principals }: Pick<ActivityRuntime, 'principals'>, input: OfRun & DataInput): Promise<DataView> {
  const ask = (): Promise<DataView> => queryRun<DataView>(input, QUERIES.data, null);
  if (input.dataByReference) return ask();
  const { deps = {}, state = {} } = input;
  const principal = input.principal === true ? await principals.of(input, async () => (await ask()).principal) : input.principal;
  return { deps, state, ...(principal === undefined ? {} : { principal }) };
}
