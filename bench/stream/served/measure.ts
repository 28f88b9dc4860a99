import { quietRuntime } from '../../../test/processes/quiet-runtime.ts';
import { measureBusy } from './busy-readers.ts';
import { measureIdle } from './idle-readers.ts';
import type { ServeBenchOptions } from './serve-options.ts';
import { withService } from './serve-surroundings.ts';
import { timeStarts } from './starts.ts';

/**
 * Measures a service over HTTP: its starts, the readers of one run, and the readers of waiting runs. Returns the object of the last line.
 *
 * `readP95Ms` is from the moment when the model sent the last token of an answer, or the tool returned its result, to the moment when the
 * process of a reader got the bytes of that event: the completion of the call, the server, the workflow task, the announcement, the query
 * and the response of the service are all in it. `queriesPerEvent` counts all queries of the service's client, from the decision to the end
 * of the run, and divides them by the events that a reader got in this time.
 */
export async function measureServe(options: ServeBenchOptions, say: (line: string) => void): Promise<object> {
  quietRuntime();
  return withService(options.sink, say, async (surroundings) => {
    const { startRatio, ...startTimes } = await timeStarts(surroundings, options.starts);
    say(`a start takes ${startTimes.startHttpMs} ms over HTTP, and ${startTimes.startClientMs} ms by the client`);
    const { readers, readP95Ms, queriesPerEvent, ...busy } = await measureBusy(surroundings, options);
    say(`${readers} readers: p95 ${readP95Ms} ms, ${queriesPerEvent} queries for each of ${busy.events} events`);
    const idle = await measureIdle(surroundings, options);
    say(`${idle.idleReaders} idle readers: ${idle.idleQueriesPerRunMinute} queries for a run in a minute, ${idle.rssMb} MB`);
    const { command: _, quiet: __, readers: ___, idleReaders: ____, ...setting } = options;
    return { startRatio, readers, readP95Ms, queriesPerEvent, ...idle, ...startTimes, ...busy, ...setting, machine: surroundings.machine };
  });
}
