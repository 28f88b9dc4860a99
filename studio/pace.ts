// How often the page reads again what the stream of a run does not bring.

/** The shortest pause between two readings of the facts of a run, in milliseconds. */
const LEAST = 2_000;

/** To read the facts of a run takes the longer the more answers it has: the pause grows with them, in milliseconds for each. */
const FOR_EACH_ANSWER = 50;

/** Returns the pause between two readings of the facts of a run that has so many answers, in milliseconds. */
export function pauseBetween(answers: number): number {
  return Math.max(LEAST, answers * FOR_EACH_ANSWER);
}

/** What is known of a run when its facts are read. */
interface Moment {
  status: string;
  answers: number;
}

/** Returns the milliseconds until the facts of a run are to be read: none if its status is another one, undefined if nothing has changed. */
export function dueIn(read: Moment & { at: number }, seen: Moment, now: number): number | undefined {
  if (seen.status !== read.status) return 0;
  if (seen.answers === read.answers) return undefined;
  return Math.max(0, read.at + pauseBetween(seen.answers) - now);
}
