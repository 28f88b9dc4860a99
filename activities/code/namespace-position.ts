import type { RunSegmentInput } from '../../src/core/domain/code/segment-messages.ts';

/** The place in the journal of a run that a segment begins at. */
export type SegmentPlace = Pick<RunSegmentInput, 'cell' | 'segment' | 'after' | 'eventId' | 'at'>;

/**
 * Returns the position of the namespace that a segment needs, as a text that no other position has: the cells before it and the
 * segments of its own cell, the cell itself, and the digest of the segment before. A namespace in which an attempt has gone on whose
 * answer was lost has another position, even if as many cells have ended in it.
 */
export function positionBefore({ cell, segment, after = '', eventId, at }: SegmentPlace): string {
  return segment === 0 ? position(cell, after) : position(cell, after, { id: cellId({ eventId, at }), segments: segment });
}

/** Identifies a cell: the event and the index of its call of `run_code`. */
export function cellId({ eventId, at }: Pick<SegmentPlace, 'eventId' | 'at'>): string {
  return `${eventId}/${at[1]}`;
}

/** Returns the position of a namespace in which a number of cells have ended, and in which one may wait for calls. */
export function position(cells: number, after: string, waiting?: { id: string; segments: number }): string {
  return JSON.stringify([cells, after, ...(waiting === undefined ? [] : [waiting.id, waiting.segments])]);
}
