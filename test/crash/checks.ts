import type { Event } from '../../src/core/domain/record.ts';
import type { RunResultJson } from '../../src/core/domain/result.ts';
import type { AggregatedUsage } from '../../src/core/domain/usage.ts';
import { diff } from 'node:util';
import { unless } from '../processes/command.ts';
import type { Hit } from './subject.ts';

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

/** Stands in a plain record for how the answer of a call was lost: by which timeout depends on the moment of the kill. */
export const HOW_LOST = '…';

/** Returns a text without how an answer was lost. */
export function withoutHowLost(text: string): string {
  return text.replaceAll(/(?<= its answer was lost \().*?(?=\)\. It may have taken effect)/g, HOW_LOST);
}

/** A record without the fields that differ between runs. */
export function plainRecord({ result, events }: PlainRecord): PlainRecord {
  const record = { result: { ...result, usage: usageOfAnswers(result.usage, events) }, events };
  const withoutIds = (key: string, value: unknown): unknown =>
    OF_ONE_RUN.has(key) ? undefined : typeof value === 'string' ? withoutHowLost(value) : value;
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

/** A model call: its request, how often it was made, and whether such a call was in flight at a kill. */
interface Ask {
  told: string;
  times: number;
  inFlight: boolean;
}

/** The checked facts of the model calls of a record. */
interface AskedRecord {
  /** How often a process was killed. */
  kills: number;
  asks: readonly Ask[];
  /** The attempts of each that the server has given up. */
  givenUp: ReadonlyMap<string, number>;
}

/** The answers that were asked for more often than `most` allows. */
export function asksOver(
  { asks }: Pick<AskedRecord, 'asks'>,
  most: (ask: Ask) => number,
  words: (ask: Ask) => string = () => '',
): string[] {
  return asks
    .filter((ask) => ask.times > most(ask))
    .map((ask) => `the answer at "${ask.told}" was asked for ${ask.times} times${words(ask)}`);
}

/** The problems with the kills and model calls of a run that was hit at a point: only a call that was in flight, or was given up, may be made again. */
export function hitProblems({ pass }: Hit, record: AskedRecord): string[] {
  return [
    ...unless(record.kills === 1, `the ${pass} was killed ${record.kills} times, where it should die once, at this point`),
    ...asksOver(
      record,
      ({ told, inFlight }) => 1 + Math.max(inFlight ? 1 : 0, record.givenUp.get(told) ?? 0),
      ({ inFlight }) => `, ${inFlight ? 'in' : 'not in'} flight at the kill`,
    ),
  ];
}

/** The problems with the model calls of a run that was hit at random: each kill may make one more call necessary. */
export function randomAsks(record: AskedRecord): string[] {
  return asksOver(
    record,
    () => 1 + record.kills,
    () => ` after ${record.kills} kills`,
  );
}

/** The parts where a record differs from the undisturbed run's. */
export function partsThatDiffer<Plain extends object>(undisturbed: Plain, actual: Plain): string[] {
  return (Object.keys(actual) as (keyof Plain & string)[]).flatMap((part) => {
    const changes = difference(undisturbed[part], actual[part]);
    return changes === undefined ? [] : [`"${part}" differs:\n${changes}`];
  });
}
