import type { JsonValue } from '../../../src/core/domain/json.ts';
import { OF_ONE_RUN } from '../checks/plain-record.ts';
import type { TreeRecord } from './tree-record.ts';

/** The parts of a record that are equal in all runs of the tree, as JSON. */
export interface PlainTree {
  runs: JsonValue;
  tally: JsonValue;
  /** The effects of tools, by name. */
  effects: string[];
  /** The model calls, by the points where their answers were read. */
  asks: string[];
}

/** Further fields that differ between any two trees: the ids of the children, and the cost of lost attempts. */
const OF_ONE_TREE = new Set([...OF_ONE_RUN, 'childRunId', 'estimated']);

/** A record without the fields that differ between runs. */
export function plainTree({ runs, tally, effects, asks }: TreeRecord): PlainTree {
  return {
    runs: plain(Object.fromEntries(Object.entries(runs).toSorted(([one], [other]) => (one < other ? -1 : 1)))),
    tally: plain(tally),
    effects: effects.map(({ effect }) => effect).toSorted(),
    asks: asks.map(({ told }) => told).toSorted(),
  };
}

function plain(value: unknown): JsonValue {
  const withoutIds = (key: string, field: unknown): unknown => (OF_ONE_TREE.has(key) ? undefined : field);
  return JSON.parse(JSON.stringify(value, withoutIds)) as JsonValue;
}
