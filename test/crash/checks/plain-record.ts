import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { AggregatedUsage } from '../../../src/core/domain/usage.ts';
import { diff } from 'node:util';

/** The parts of a record that are equal in all runs of the same conversation, as JSON. */
export interface PlainRecord {
  result: RunResultJson<unknown>;
  events: Event[];
}

/** Fields that differ between any two runs: ids, times and attempts, and if a call was verified because its answer was lost. */
export const OF_ONE_RUN: ReadonlySet<string> = new Set([
  'id',
  'runId',
  'executionId',
  'digest',
  'timestamp',
  'at',
  'startTime',
  'endTime',
  'durationMs',
  'durationSeconds',
  'failedAttempts',
  'verified',
]);

/** A record without the fields that differ between runs. */
export function plainRecord({ result, events }: PlainRecord): PlainRecord {
  const record = { result: { ...result, usage: usageOfAnswers(result.usage, events) }, events };
  const withoutIds = (key: string, value: unknown): unknown => (OF_ONE_RUN.has(key) ? undefined : value);
  return JSON.parse(JSON.stringify(record, withoutIds)) as PlainRecord;
}

/** The usage of the answers, without the attempts that were lost after the provider had begun to answer. */
function usageOfAnswers({ estimated: _ofLostAttempts, ...usage }: AggregatedUsage, events: readonly Event[]): AggregatedUsage {
  const lost = events.flatMap(({ failedAttempts }) => failedAttempts?.reported ?? []);
  return lost.reduce<AggregatedUsage>(
    (rest, { promptTokens, completionTokens, totalTokens }) => ({
      ...rest,
      promptTokens: rest.promptTokens - promptTokens,
      completionTokens: rest.completionTokens - completionTokens,
      totalTokens: rest.totalTokens - totalTokens,
    }),
    usage,
  );
}

/** The number of lines of a difference that are printed. */
const SHOWN = 40;

/** The lines where two values differ as JSON: `-` is missing, `+` is additional. Undefined for equal values. */
export function difference(expected: unknown, actual: unknown): string | undefined {
  const [wanted, given] = [linesOf(expected), linesOf(actual)];
  if (wanted.join('\n') === given.join('\n')) return undefined;
  const changes = diff(wanted, given).flatMap(([change, line]) => (change === 0 ? [] : [`${change > 0 ? '-' : '+'} ${line}`]));
  const more = changes.length > SHOWN ? [`… and ${changes.length - SHOWN} more lines`] : [];
  return [...changes.slice(0, SHOWN), ...more].join('\n');
}

function linesOf(value: unknown): string[] {
  return JSON.stringify(value, null, 1).split('\n');
}
