import { jsonBytes } from '../domain/json/payload-limit.ts';
import { type TraceEntry, traceEntries } from '../program/trace/trace-entry.ts';
import { traceNames } from '../program/trace/trace-header.ts';
import type { TracePage } from '../program/trace/trace-page.ts';
import { PAGE_BYTES } from '../protocol.ts';
import type { QueriedRun } from './queried-run.ts';
import { secondsOf } from '../domain/record/time.ts';

/**
 * Answers the `trace` query with events of this execution. A page that would begin before them begins with the first. The trace of an agent
 * is made from its events and steps by the reader: its page has no lines.
 */
export function tracePage({ runId, agentName, startedAt, state }: QueriedRun, from: number): TracePage {
  const head = { version: 1 as const, runId, startTime: startedAt / 1000 };
  if (state === undefined) {
    return { ...head, programName: agentName, backendName: '', firstOffset: 0, from, next: from, total: 0, entries: [] };
  }
  const { program, firstOffset, context } = state;
  if (program === undefined) {
    const { model } = state.snapshot;
    return { ...head, programName: agentName, backendName: '', model, firstOffset, from, next: from, total: 0, entries: [] };
  }
  const { document } = program;
  const first = Math.max(from, firstOffset);
  const entries: TraceEntry[] = [];
  let next = first;
  let bytes = 0;
  for (const event of context.events.slice(first - firstOffset)) {
    const own = traceEntries(document, event);
    bytes += jsonBytes(own);
    if (bytes > PAGE_BYTES && next > first) break;
    entries.push(...own);
    next += 1;
  }
  const last = context.events.at(-1);
  return {
    ...head,
    ...traceNames(document),
    ...(last === undefined ? {} : { endTime: secondsOf(last.timestamp) }),
    firstOffset,
    from: first,
    next,
    total: firstOffset + context.events.length,
    entries,
  };
}
