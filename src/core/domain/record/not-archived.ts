/** A range of events of a run: from the offset `from` up to, but not including, `through`. */
export interface EventRange {
  from: number;
  through: number;
}

/** Events that the archive is storing. The run goes on, or ends, once they are stored or the attempts are over. */
export interface Archiving extends EventRange {
  /** ISO 8601. */
  since: string;
}

/** Events that are not in the archive, because it failed for too long. The history of their executions still has them. */
export interface NotArchived extends EventRange {
  /** The error of the last attempt. */
  message: string;
}

/** Describes a range for a person, by its first and its last event: `events 0 to 7`, or `event 7`. */
export function eventsText({ from, through }: EventRange): string {
  return through - from === 1 ? `event ${from}` : `events ${from} to ${through - 1}`;
}
