import type { Checkpoint } from '../../src/core/bursts/stored-burst.ts';

/**
 * Returns the number of attempts at a call that may have been made before this attempt at its burst, each of which was lost: by the attempt at
 * the burst that has stored the checkpoint, and by those after it. Whether the last of them had begun with the call cannot be told, so it counts.
 */
export function attemptsBefore(
  { attempt: storedBy, running = [] }: Pick<Checkpoint, 'attempt' | 'running'>,
  attempt: number,
  key: string,
): number {
  const lost = attempt - Math.max(1, storedBy);
  const known = running.find(([one]) => one === key)?.[1];
  return known === undefined ? lost : known + lost - 1;
}
