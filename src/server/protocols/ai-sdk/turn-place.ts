import type { ContextPage } from '../../../core/protocol.ts';
import { completesStep } from '../../../core/domain/record.ts';
import type { RecordPlace } from '../../../client/stream/record-pages.ts';
import type { RunHandle } from '../../../client/run-handle.ts';

/** The number of events that are read first, from the newest on. Most turns have fewer. */
const FIRST_LOOK = 50;

/**
 * Finds the place at which a turn begins: behind the end of the turn before it. Reads the record backwards, so that a long conversation
 * costs no more than a short one. `known`: the number of events that were recorded when the turn went on or was about to begin.
 */
export async function placeOfTurn(run: Pick<RunHandle, 'context'>, turn: number, known: number): Promise<RecordPlace> {
  if (turn === 1) return { offset: 0, step: 0 };
  let stepsBehind = 0;
  let until = Infinity;
  let steps = 0;
  for (let from = Math.max(0, known - FIRST_LOOK), look = FIRST_LOOK; ; look *= 4, from = Math.max(0, until - look)) {
    const first = await run.context({ from });
    if (until === Infinity) {
      until = first.total;
      steps = first.currentStep;
    }
    const events = await eventsBetween(run, first, until);
    const end = events.findLastIndex((event) => event.turn !== undefined && event.turn.number < turn);
    stepsBehind += events.slice(end + 1).filter(completesStep).length;
    if (end !== -1 || from === 0) return { offset: from + end + 1, step: Math.max(0, steps - stepsBehind) };
    until = Math.min(until, from);
  }
}

/** Reads the events of a page and of those behind it. */
async function eventsBetween(run: Pick<RunHandle, 'context'>, first: ContextPage, until: number): Promise<ContextPage['events']> {
  const events = [...first.events];
  for (let next = first.from + events.length; next < until; next = first.from + events.length) {
    const page = await run.context({ from: next });
    if (page.events.length === 0) break;
    events.push(...page.events);
  }
  return events.slice(0, until - first.from);
}
