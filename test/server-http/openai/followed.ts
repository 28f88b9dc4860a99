import type { ResponseFacts, WireEvent } from '../../../src/server/protocols/openai/response-body.ts';
import { ResponseEvents } from '../../../src/server/protocols/openai/response-events.ts';
import { placeOf } from '../../../src/server/protocols/openai/response-text.ts';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';

const FACTS: ResponseFacts = { runId: 'run-1', agent: 'clerk', createdAt: 1, parameters: {}, schema: undefined };

/** The events that a reader gets of these items, after the one with a number. */
export function eventsOf(items: Iterable<StreamItem>, after?: number): WireEvent[] {
  const events = new ResponseEvents(FACTS, { after: after === undefined ? undefined : placeOf(after) });
  const made = [...events.begin()];
  for (const item of items) made.push(...events.take(item));
  return made;
}

/** An item as a client has put it together. */
export interface BuiltItem {
  id: string;
  type: string;
  text: string;
  isDone: boolean;
  status: string | undefined;
}

/** Puts the items of a response together, as a client does. Throws for events that do not fit together. */
export function built(events: readonly WireEvent[]): Map<string, BuiltItem> {
  const items = new Map<string, BuiltItem>();
  const byIndex = new Map<number, string>();
  let last = -1;
  for (const event of events) {
    if (event.sequence_number <= last) throw new Error(`The number ${event.sequence_number} follows ${last}`);
    last = event.sequence_number;
    if (!('output_index' in event)) continue;
    if (event.type === 'response.output_item.added') {
      const { id = '', type } = event.item;
      if (items.has(id) || byIndex.has(event.output_index)) throw new Error(`The item ${id} at ${event.output_index} is begun twice`);
      items.set(id, { id, type, text: '', isDone: false, status: undefined });
      byIndex.set(event.output_index, id);
      continue;
    }
    const item = items.get(byIndex.get(event.output_index) ?? '');
    if (item === undefined) throw new Error(`${event.type} is about no item: ${event.output_index}`);
    if (item.isDone) throw new Error(`${event.type} is about ${item.id}, which is done`);
    if ('item_id' in event && event.item_id !== item.id)
      throw new Error(`${event.type} at ${event.output_index} is about ${event.item_id}`);
    if ('delta' in event && typeof event.delta === 'string') item.text += event.delta;
    if (event.type === 'response.output_text.done' && event.text !== item.text) throw new Error(`"${item.text}" ends as "${event.text}"`);
    if (event.type !== 'response.output_item.done') continue;
    item.isDone = true;
    item.status = 'status' in event.item ? (event.item.status ?? undefined) : undefined;
  }
  return items;
}
