import type { Event } from '../../core/domain/record.ts';

/** The events of the record that a tool, a hook or a guardrail wants to read. */
export interface EventsOptions {
  /** The offset of the first event to read. Default: the first of this execution, or what `last` says. */
  from?: number;
  /** The number of newest events to read, from `from` on: 1 to 200. Without `from` the default is 20. */
  last?: number;
  /** Bytes of JSON that the events may have together: up to 500,000. Default 64,000. */
  bytes?: number;
}

/** An event of the record, with its offset. */
export type RecordedEvent = Event & { readonly offset: number };

/** A part of the record of a run. */
export interface RecordedEvents {
  /** The events in the order of the record: with `last` the newest, otherwise those from `from` on, up to 20. */
  readonly events: readonly RecordedEvent[];
  /** The offset of the first event that can be read here. Earlier events are in earlier executions of the run. */
  readonly firstOffset: number;
  /** The number of all events of the run. */
  readonly total: number;
  /** True if events that were asked for are left out, because of their bytes. */
  readonly cut?: true;
}

/** Reads events from the record of the run. */
export type ReadEvents = (options?: EventsOptions) => Promise<RecordedEvents>;
