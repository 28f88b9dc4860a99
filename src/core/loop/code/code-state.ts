// Shared state: the code of a run.

import type { CodeJournal } from '../../domain/execution.ts';
import type { ToolCallRecord } from '../../domain/tool-calls.ts';
import type { WindowEvent } from '../../domain/window.ts';

/** The code that a run has executed. Plain JSON: it is carried into the next execution as it is. */
export interface CodeState {
  journal: CodeJournal;
  /** Bytes of JSON of the journal. Counted as it grows, because computing them each time would take longer with each cell. */
  journalBytes: number;
  /** The local segments since the last remote activity, and the bytes that they and their calls produced. */
  localWork?: { bytes: number; segments: number };
  /** The event of the calls that the cell in progress waits for. */
  calls?: WindowEvent;
  /** The calls that code has made in this step. */
  records: ToolCallRecord[];
}
