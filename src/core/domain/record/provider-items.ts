import { isJsonObject, type JsonValue } from '../json/json.ts';

/** The beginning of the items that a provider sent with an answer: whose they are. The items follow it in the list. */
export interface ProviderItemsOwner {
  /** The model that gave the answer, as `provider/model`. No other one gets the items back. */
  by: string;
  /** The account that made the call, as the client names it. The client compares it. Absent if it names none. */
  account?: string;
}

/** Returns items in the form of the record. */
export function recordedItems(owner: ProviderItemsOwner, items: readonly JsonValue[]): JsonValue[] {
  const { by, account } = owner;
  return [{ by, ...(account === undefined ? {} : { account }) }, ...items];
}

/** Returns the items of a record that are for a model, with their account; empty if there are none. Nothing in the record is trusted. */
export function itemsFor(model: string, recorded: readonly JsonValue[] = []): { providerItems?: JsonValue[]; account?: string } {
  const [owner, ...items] = recorded;
  if (!isJsonObject(owner) || owner['by'] !== model || items.length === 0) return {};
  const { account } = owner;
  return { providerItems: items, ...(typeof account === 'string' ? { account } : {}) };
}
