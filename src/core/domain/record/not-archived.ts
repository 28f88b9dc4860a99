/** Events of a run: from the offset `from` up to, and without, `through`. */
export interface EventRange {
  from: number;
  through: number;
}

/** Events that a run is handing to the archive: it goes on, or ends, once they are there or the attempts are over. */
export interface Archiving extends EventRange {
  /** ISO 8601. */
  since: string;
}

/** Events that are not in the archive, because it failed for too long. The history of their executions still has them. */
export interface NotArchived extends EventRange {
  /** How the last attempt failed. */
  message: string;
}

/** `events 0 to 7`, or `event 7`: for people, a range ends with its last number. */
export function eventsText({ from, through }: EventRange): string {
  return through - from === 1 ? `event ${from}` : `events ${from} to ${through - 1}`;
}
