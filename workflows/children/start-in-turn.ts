import { condition } from '@temporalio/workflow';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { ChildStart } from '../../src/core/domain/children/child-call.ts';
import type { LiveRun } from '../run/live-run.ts';

/** Bytes of the inputs of children that one workflow task may start: its commands are one message of at most 4 MB. */
const MAX_STARTING_BYTES = 1_500_000;

/** Starts a child once there is room for its input among those that are being started. */
export async function startInTurn<Child>(run: LiveRun, { input }: ChildStart, start: () => Promise<Child>): Promise<Child> {
  const bytes = jsonBytes(input);
  const hasRoom = (): boolean => (run.startingBytes ?? 0) === 0 || (run.startingBytes ?? 0) + bytes <= MAX_STARTING_BYTES;
  // Several may wait, and each start takes room from the others.
  while (!hasRoom()) await condition(hasRoom);
  run.startingBytes = (run.startingBytes ?? 0) + bytes;
  try {
    return await start();
  } finally {
    run.startingBytes -= bytes;
  }
}
