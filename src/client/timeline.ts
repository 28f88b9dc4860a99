import { defined } from '../core/domain/json.ts';
import { type RunTimeline, timeByKind, type TimelineSpan } from '../core/domain/views.ts';
import type { ChainedExecution } from '../history/execution-reader.ts';
import { readExecution } from '../history/read-run.ts';
import { ExecutionTimeline } from '../history/timeline.ts';
import { eventsRemoved } from './reader.ts';
import type { ReadableRun } from './run-details.ts';

/** The default number of spans of a page. */
const DEFAULT_SPANS = 500;

/** The options of a timeline. */
export interface TimelineOptions {
  /** Only spans that began when the run had recorded at least this many events: the `next` of the previous page. Default 0. */
  from?: number;
  /** The number of spans after which the page ends. Spans that began together stay together, so there may be more. Default 500. */
  limit?: number;
}

/**
 * Reads a page of a run's timeline from its histories alone, execution by execution, and only those that the page needs.
 * Throws `history_removed` if the server has removed the execution at that offset.
 */
export async function runTimeline(
  { client, runId, reader }: ReadableRun,
  { from = 0, limit = DEFAULT_SPANS }: TimelineOptions = {},
): Promise<RunTimeline> {
  const executions = await reader.chain.executions();
  const first = executions[0]?.firstOffset ?? 0;
  if (from < first) throw eventsRemoved(runId, from, first);
  const spans: TimelineSpan[] = [];
  let next: number | undefined;
  for (const [index, { executionId, firstOffset }] of executions.entries()) {
    if (index < holding(executions, from)) continue;
    // An execution without events begins at the offset of the next one: their spans stay together.
    if (spans.length >= limit && firstOffset !== spans.at(-1)?.offset) next ??= firstOffset;
    if (next !== undefined) break;
    const timeline = new ExecutionTimeline(client.options.loadedDataConverter);
    const read = await readExecution(client, runId, executionId, (event, execution) => timeline.see(event, execution));
    if (read === undefined) throw eventsRemoved(runId, from, executions[index + 1]?.firstOffset ?? from + 1);
    for (const span of timeline.spans(read)) {
      if (span.offset < from) continue;
      if (spans.length >= limit && span.offset !== spans.at(-1)?.offset) {
        next = span.offset;
        break;
      }
      // Event ids are unique only within an execution.
      spans.push({ ...span, id: `${executionId}/${span.id}` });
    }
  }
  return { runId, from, spans, ms: timeByKind(spans), ...defined({ next }) };
}

/** Returns the index of the first execution with spans from an offset on. An execution without events shares its offset with the next. */
function holding(executions: readonly ChainedExecution[], from: number): number {
  const same = executions.findIndex(({ firstOffset }) => firstOffset === from);
  return same >= 0
    ? same
    : Math.max(
        0,
        executions.findLastIndex(({ firstOffset }) => firstOffset <= from),
      );
}
