import type { TraceEntry } from './trace-entry.ts';
import type { TraceHeader } from './trace-header.ts';

/** Answer of the `trace` query: the lines of the trace that a page of events stands for. Offsets are those of events. */
export interface TracePage extends TraceHeader {
  version: 1;
  runId: string;
  /** Offset of the first event of the execution that answers. Earlier events are in earlier executions. */
  firstOffset: number;
  /** Offset of the first event of this page. */
  from: number;
  /** Offset of the first event of the next page. There is one while it is less than `total`. */
  next: number;
  total: number;
  entries: TraceEntry[];
  /** For the run of an agent, whose trace is made from its events and steps: `provider/model`. */
  model?: string;
}
