// Programs: outputs of the items of a `forEach`, of which an earlier execution has stored some.

import { isJsonObject } from '../../../domain/json/json.ts';
import type { StepState } from '../../../domain/program/program-state.ts';
import { ITEMS } from '../../state/carried-outputs.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import { loadStored, type NotLoaded } from './load-outputs.ts';

/** Returns the function that says if an item has ended: its output is in the state or in the payload store. */
export function itemsThatEnded(state: StepState): (index: number) => boolean {
  const stored = new Set(state.spilledItems?.flatMap(({ indexes }) => indexes));
  return (index) => stored.has(index) || Object.hasOwn(state.items ?? {}, index);
}

/** Loads the outputs of items that are only in the payload store. Returns the reason why that is not possible. */
export async function loadItems(run: ProgramRun, { address, at, state }: RunningStep): Promise<NotLoaded[]> {
  const { spilledItems } = state;
  if (spilledItems === undefined) return [];
  const stored = spilledItems.map(({ id, spilled }) => ({ address: `${at}${ITEMS}`, id, spilled }));
  const items = { ...state.items };
  const unloaded = await loadStored(run, address, stored, (_, value) => {
    if (isJsonObject(value)) Object.assign(items, value);
  });
  if (unloaded !== undefined) return [unloaded];
  state.items = items;
  delete state.spilledItems;
  return [];
}
