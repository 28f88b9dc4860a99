import type { RunHandle } from '../../client/run-handle.ts';
import { errorCode } from '../../core/domain/errors/error.ts';
import type { Event } from '../../core/domain/record/event.ts';
import { type RunRecord, recordsInOrder } from '../../core/domain/record/run-record.ts';

/** The part of a run handle that its records are read through. */
export type ReadableRun = Pick<RunHandle<unknown>, 'steps' | 'export'> & { events: () => AsyncGenerator<Event> };

/**
 * Returns the events and steps of a run, in order. A live run is queried. For a run that has ended, or whose
 * beginning the server has removed, its history is read, as far as it is left.
 */
export async function runRecords(run: ReadableRun, { live }: { live: boolean }): Promise<RunRecord[]> {
  if (!live) return await exported(run);
  try {
    const events: Event[] = [];
    for await (const event of run.events()) events.push(event);
    // Read after the events, so that every step that they complete is included.
    const steps = await run.steps();
    return [...recordsInOrder({ firstOffset: 0, events, firstStep: 0, steps })];
  } catch (error) {
    if (errorCode(error) !== 'history_removed') throw error;
    return await exported(run);
  }
}

async function exported(run: ReadableRun): Promise<RunRecord[]> {
  const records: RunRecord[] = [];
  for await (const line of run.export()) if (line.type === 'event' || line.type === 'step') records.push(line);
  return records;
}
