import { activityInfo } from '@temporalio/activity';
import { didYouMean } from '../../src/core/domain/errors/nearest-name.ts';
import type { EventsOptions, ReadEvents } from '../../src/define/context/record-events.ts';
import { EVENTS_READ, type OfRun, QUERIES, type RecordPage } from '../../src/core/protocol.ts';
import { queryRun } from './access.ts';

/** Returns the function with which a tool, a hook or a guardrail reads the record of its run. */
export function eventsOf(run: OfRun): ReadEvents {
  return async (options = {}) => {
    const question = checked(options);
    if (activityInfo().isLocal) {
      throw new Error(
        'events: a call of a local tool, or of local code, cannot read the record, because its run answers nothing before the call has ended: write "tier": "remote"',
      );
    }
    const { from, firstOffset, events, total, cut } = await queryRun<RecordPage>(run, QUERIES.record, { ...question, steps: false });
    return {
      events: events.map((event, index) => ({ ...event, offset: from + index })),
      firstOffset,
      total,
      ...(cut ? { cut } : {}),
    };
  };
}

const OPTIONS = ['from', 'last', 'bytes'] as const satisfies readonly (keyof EventsOptions)[];

/** Returns the options with their defaults. Throws a TypeError for one that cannot be meant. */
function checked(options: EventsOptions): EventsOptions & { bytes: number } {
  for (const key of Object.keys(options)) {
    if ((OPTIONS as readonly string[]).includes(key)) continue;
    throw new TypeError(`events: there is no option "${key}" (there are: ${OPTIONS.join(', ')})${didYouMean(key, OPTIONS)}`);
  }
  const { from, last, bytes = EVENTS_READ.bytes } = options;
  whole('from', from, 0, Number.MAX_SAFE_INTEGER);
  whole('last', last, 1, EVENTS_READ.mostEvents);
  whole('bytes', bytes, 1, EVENTS_READ.mostBytes);
  return {
    ...(from === undefined ? {} : { from }),
    ...(from === undefined || last !== undefined ? { last: last ?? EVENTS_READ.events } : {}),
    bytes,
  };
}

function whole(option: string, value: unknown, least: number, most: number): void {
  if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new TypeError(`events: "${option}" is ${JSON.stringify(value)}: write a whole number ${range}`);
}
