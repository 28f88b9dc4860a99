import { unless } from '../../processes/command.ts';
import type { Hit } from '../subject.ts';
import { difference } from './plain-record.ts';

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
