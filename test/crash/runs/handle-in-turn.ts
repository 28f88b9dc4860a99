import type { OpenTestbed } from '../processes/shared-resources.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import type { Outcome } from './outcome.ts';

/** Handles one item after the other on a testbed. After a problem the testbed may be damaged: another is opened. */
export async function handleInTurn<Item>(
  open: OpenTestbed,
  items: Iterable<Item>,
  handle: (testbed: CrashTestbed, item: Item) => Promise<Outcome>,
): Promise<void> {
  let testbed: CrashTestbed | undefined;
  try {
    for (const item of items) {
      testbed ??= await open();
      const { problems } = await handle(testbed, item);
      if (problems.length === 0) continue;
      await testbed.close();
      testbed = undefined;
    }
  } finally {
    await testbed?.close();
  }
}
