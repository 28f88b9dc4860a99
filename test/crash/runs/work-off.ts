import type { OpenLane } from '../processes/ground.ts';
import type { Lane } from '../processes/lane.ts';
import type { Outcome } from './outcome.ts';

/** Handles one item after the other on a testbed. After a problem the testbed may be damaged: another is opened. */
export async function workOff<Item>(
  open: OpenLane,
  items: Iterable<Item>,
  play: (lane: Lane, item: Item) => Promise<Outcome>,
): Promise<void> {
  let lane: Lane | undefined;
  try {
    for (const item of items) {
      lane ??= await open();
      const { problems } = await play(lane, item);
      if (problems.length === 0) continue;
      await lane.close();
      lane = undefined;
    }
  } finally {
    await lane?.close();
  }
}
