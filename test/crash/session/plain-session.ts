import type { Event } from '../../../src/core/domain/record.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { OF_ONE_RUN } from '../checks/plain-record.ts';
import type { SessionRecord } from './session-record.ts';

/** The parts of a record that are equal in all runs of the session, as JSON. */
export interface PlainSession {
  result: JsonValue;
  events: JsonValue;
  turns: JsonValue;
  answeredIn: JsonValue;
  refusal: JsonValue;
  /** The effects of tools, by name. */
  effects: string[];
  /** The keys of the entries in the memory. */
  memory: string[];
}

/** Further fields that differ: the request that was aborted counts in the usage, unless it was lost with its worker. Their sums are checked. */
const OF_ONE_SESSION = new Set([...OF_ONE_RUN, 'usage', 'estimated']);

/** A record without the parts that differ between runs. */
export function plainSession({ result, events, turns, answeredIn, refusal, effects, memory }: SessionRecord): PlainSession {
  return {
    result: plain(result),
    events: plain(events.filter((event) => !isAborted(event))),
    turns: plain(turns),
    answeredIn: plain(answeredIn),
    refusal,
    effects: effects.map(({ effect }) => effect).toSorted(),
    memory,
  };
}

/** True for the event of a request that was aborted before it had a part of its answer, or that was lost with its worker meanwhile. */
function isAborted({ interrupted, failed, content }: Event): boolean {
  return failed !== undefined || (interrupted === true && content.length === 0);
}

/** The time when an entry of the memory was stored, in the text that the model gets. */
const STORED_AT = /"when":"[^"]*"/g;

function plain(value: unknown): JsonValue {
  const withoutIds = (key: string, field: unknown): unknown => {
    if (OF_ONE_SESSION.has(key)) return undefined;
    return typeof field === 'string' ? field.replaceAll(STORED_AT, '"when":""') : field;
  };
  return JSON.parse(JSON.stringify(value, withoutIds)) as JsonValue;
}
