import type { Delta } from '../../core/domain/stream.ts';
import type { Event } from '../../core/domain/record.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';

/** The result of a run as the last item of its stream has it: the steps were items of their own. */
export type StreamedResult = Omit<RunResultFields, 'steps'>;

/** One item of the stream of a run, without its cursor. */
export type StreamItemContent =
  /** An event of the record. It replaces the deltas with its id, and those of the tool calls whose results it holds. */
  | { type: 'event'; offset: number; event: Event }
  /** A step of the record. It follows the event that completed it. */
  | { type: 'step'; step: StepResult }
  /**
   * A provisional piece of output. `eventId` is the id of the event that will replace it. With `callId` it belongs to a call, and `eventId`
   * is that of the event with the call: the event with the result of the call replaces it.
   */
  | { type: 'delta'; step: number; attempt: number; eventId: string; callId?: string; delta: Delta }
  /**
   * Another attempt of a call begins: it takes back the deltas of the attempts before it, those of the model or those of `callId`. With
   * `offset`, the run was sent back to an earlier step by `retry` since the cursor was made: all deltas, the events from that offset on and
   * the steps from that one on are taken back.
   */
  | { type: 'reset'; step: number; attempt: number; callId?: string; offset?: number }
  /** Deltas may be missing here. Nothing of the record is: the next event holds everything. */
  | { type: 'gap' }
  /** The status of the run, at the beginning and after each change. */
  | { type: 'status'; status: RunStatus }
  /** The run has ended. Only this item ends a stream. */
  | { type: 'end'; result: StreamedResult };

/** One item of the stream of a run. `cursor` is opaque: a stream that begins with it, in any process and at any time, goes on behind this item. */
export type StreamItem = StreamItemContent & { cursor: string };
